"""The package of the seed page `nemo-agent-toolkit-custom-evaluator.txt`: its code, only the imports name other packages."""
