#!/bin/bash
# Makes the files beside it, each by a program other than rollwise: `bash make.sh PYTHON`, whose Python has datasets, pandas, openpyxl and xlsxwriter.
set -eu
cd "$(dirname "$0")"
find . -mindepth 1 ! -name make.sh -delete
"$1" - <<'PYTHON'
import datasets, json, pandas
rows = [{"id": f"r{n}", "prompt": f"Wie groß ist {n} – „ungefähr“?", "response": f"Über {n} €", "jailbroken": n % 2 == 0} for n in range(6)]
with open("lines.jsonl", "w") as file:
    file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
table = pandas.DataFrame(rows)
table.to_csv("pandas.csv", index=False)
table.to_csv("pandas.csv.zip", index=False)
table.to_json("pandas.jsonl.zst", orient="records", lines=True)
table.to_excel("openpyxl.xlsx", index=False, engine="openpyxl")
table.to_excel("xlsxwriter.xlsx", index=False, engine="xlsxwriter")
said = [[{"role": "user", "content": row["prompt"]}, {"role": "assistant", "content": row["response"]}] for row in rows]
chats = pandas.DataFrame({"id": table["id"], "messages": said, "jailbroken": table["jailbroken"]})
chats.to_csv("pandas_chats.csv", index=False)
models = pandas.concat([table.assign(model="a"), table.assign(model="b", response="Nein")])
models.pivot(index="prompt", columns="model", values=["response", "jailbroken"]).to_parquet("pandas_wide.parquet")
wide = models.pivot(index="prompt", columns="model", values="response").add_suffix("_response")
wide.reset_index().to_csv("pandas_wide.csv", index=False)
data_set = datasets.Dataset.from_list(rows)
data_set.save_to_disk("data_set", num_shards=2)
datasets.DatasetDict({"train": data_set.select(range(4)), "test": data_set.select([4, 5])}).save_to_disk("splits")
data_set.to_parquet("hub/data/train-00000-of-00001.parquet")
open("hub/README.md", "w").write("---\ndataset_info:\n  splits:\n  - name: train\n    num_examples: 6\n---\n# Mine\n")
datasets.load_dataset("json", data_files="lines.jsonl", cache_dir="cache")
PYTHON
mkdir runs && cp lines.jsonl runs/log.jsonl && head -3 pandas.csv > runs/part.csv && sed -i 's/^r/s/' runs/part.csv
zip -qr info_zip.zip runs
jar --create --no-manifest --file java.jar runs
7z a -bso0 7z.zip runs
7z a -bso0 7z.7z runs
tar --create --format=gnu --file gnu.tar runs
tar --create --gzip --format=pax --file gnu_pax.tar.gz runs
tar --create --zstd --file gnu.tar.zst runs
bsdtar --create --format pax --file bsd_pax.tar runs
bsdtar --create --format ustar --xz --file bsd.tar.xz runs
rm -r runs
gzip --keep --stdout lines.jsonl > gzip.jsonl.gz
zstd --quiet --stdout lines.jsonl > zstd.jsonl.zst
bzip2 --keep --stdout lines.jsonl > bzip2.jsonl.bz2
xz --keep --stdout lines.jsonl > xz.jsonl.xz
iconv --from utf-8 --to utf-16 pandas.csv > iconv_utf_16.csv
iconv --from utf-8 --to utf-16be lines.jsonl > iconv_utf_16be.jsonl
iconv --from utf-8 --to windows-1252 pandas.csv > iconv_windows_1252.csv
sqlite3 sqlite3.db "CREATE TABLE runs (id TEXT, prompt TEXT, response TEXT, jailbroken BOOLEAN)" ".import --csv --skip 1 pandas.csv runs"
soffice --headless --convert-to xlsx:"Calc MS Excel 2007 XML" --infilter=CSV:44,34,76 --outdir . pandas.csv >/dev/null && mv pandas.xlsx libreoffice.xlsx
soffice --headless --convert-to ods --infilter=CSV:44,34,76 --outdir . pandas.csv >/dev/null && mv pandas.ods libreoffice.ods
