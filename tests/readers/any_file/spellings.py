"""Other names for the fields of files: in other languages and spellings, and with no meaning at all."""

import random
import re

# Names that a person might give to such a field; some are in no vocabulary.
OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "prompt": ("Ask", "userRequest", "Eingabe", "Full Prompt", "what_we_sent", "message to model", "adversarialPrompt"),
    "question": ("userQuestion", "Frage", "query text", "the_question"),
    "original_prompt": ("basePrompt", "Original Question", "urspruengliche_frage", "seed_prompt"),
    "attack_prompt": ("jailbreakPrompt", "Angriffstext", "mutated prompt", "sent_prompt"),
    "adversarial_prompt": ("attackPrompt", "Angriffstext", "jailbreak prompt", "final_prompt"),
    "adversarial_query": ("attackQuery", "Anfrage", "injected prompt", "attack_text"),
    "user_input": ("userInput", "Nutzereingabe", "question", "user message"),
    "response": ("Model Reply", "targetOutput", "Antwort", "completionText", "what_it_said", "Reply", "final answer"),
    "victim_response": ("victimOutput", "Antwort_des_Modells", "target reply", "model_response"),
    "system_response_preview": ("responsePreview", "Antwort", "System Output", "output"),
    "final_text": ("finalOutput", "Schlusstext", "final answer", "reply"),
    "model_output": ("modelOutput", "Ausgabe", "Model Reply", "answer_text"),
    "model": ("Target Model", "modelName", "Modell", "llm_used", "LLM", "testedSystem", "model id"),
    "model_test": ("testedModel", "Modell", "Model Name", "victim_model"),
    "target": ("targetModel", "Zielmodell", "Victim", "model_name", "engine used"),
    "agent": ("agentName", "Agent", "scaffold", "Agent Name"),
    "attack": ("attackMethod", "Angriff", "Jailbreak Technique", "strategy", "trick used"),
    "attack_type": ("attackType", "Angriffsart", "Attack Name", "tactic"),
    "technique": ("attackTechnique", "Technik", "Method", "trick"),
    "strategy": ("attackStrategy", "Strategie", "Attack Method", "tactic"),
    "goal": ("harmfulBehavior", "Ziel", "Behavior ID", "objective", "what we want"),
    "behavior": ("harmfulGoal", "Verhalten", "Behaviour", "intent"),
    "task": ("taskId", "Aufgabe", "Problem ID", "scenario", "challenge"),
    "task_id": ("taskName", "Aufgabe", "Problem", "instanceId"),
    "instance_id": ("instanceId", "Fall", "Problem ID", "task"),
    "id": ("runId", "Nummer", "Case ID", "uid", "#"),
    "jailbroken": ("isJailbroken", "gehackt", "Jailbroken?", "got_through", "is broken", "attackWorked", "bypassed"),
    "succeeded": ("attackSucceeded", "gelungen", "Success?", "worked", "attack_success"),
    "attack_successful": ("isSuccessful", "Angriff_gelungen", "Attack Success", "broke_it"),
    "is_success": ("success", "erfolgreich", "Is Successful", "attackSuccess"),
    "attack_success": ("attackSucceeded", "Erfolg", "Jailbreak Success", "did_succeed"),
    "success": ("isSuccess", "Erfolg", "Succeeded?", "worked", "was_successful"),
    "solved": ("isSolved", "geloest", "Resolved?", "task_done", "passed"),
    "passed": ("isPassed", "bestanden", "Solved?", "all_green", "success"),
    "correct": ("isCorrect", "richtig", "Correct?", "matches_gold", "solved"),
    "mitigated": ("wasBlocked", "abgewehrt", "Defended?", "held_off", "is_safe"),
    "defense_success": ("defenceSucceeded", "Abwehr_gelungen", "Defense OK", "guardrail_held"),
    "verdict": ("judgeVerdict", "Urteil", "Judge Label", "outcome", "assessment"),
    "label": ("judgeLabel", "Bewertung", "Final Label", "classification"),
    "result": ("finalResult", "Ergebnis", "Test Outcome", "verdict"),
    "refused": ("isRefusal", "abgelehnt", "Refused?", "model_refused"),
    "score": ("judgeScore", "Note", "Harm Score", "points"),
    "attempt": ("attemptNumber", "Versuch", "Trial", "try"),
    "trial": ("trialIndex", "Versuch", "Repeat", "attempt"),
    "cost": ("costUsd", "Kosten", "Total Cost", "price"),
    "costUsd": ("cost", "Kosten", "Total Cost USD", "dollars"),
    "category": ("harmCategory", "Kategorie", "Risk Category", "topic"),
}
KEPT = {"api_success"}  # names without which a file says something else
SAME = "same"  # in meaning: another spelling


def spelled(name: str, chance: random.Random) -> str:
    """Return a name in another spelling."""
    words = [word.lower() for word in re.split(r"[\s_-]+|(?<=[a-z])(?=[A-Z])", name) if word]
    ways = (
        "_".join(words),
        words[0] + "".join(map(str.capitalize, words[1:])),
        " ".join(map(str.capitalize, words)),
        "-".join(words),
        "_".join(words).upper(),
        " ".join(words),
    )
    return chance.choice(ways)


def renamed(names: list[str], chance: random.Random) -> dict[str, tuple[str, str]]:
    """Return other names for half of these, each with how it was made: another spelling, another word, or no meaning."""
    found: dict[str, tuple[str, str]] = {}
    used = {*names}
    for name in names:
        way = chance.choices(("kept", SAME, "word", "meaningless"), (50, 20, 25, 5))[0]
        new = name
        if way == SAME:
            new = spelled(name, chance)
        elif way == "word":
            new = chance.choice(OTHER_NAMES.get(name, (spelled(name, chance),)))
        elif way == "meaningless":
            new = f"f{chance.randrange(1, 99)}"
        if new in used or name in KEPT:
            new, way = name, "kept"
        found[name] = (new, way)
        used.add(new)
    return found
