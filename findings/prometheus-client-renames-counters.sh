#!/usr/bin/env bash
# Package: prometheus_client 0.26.0 (Python 3.11), seen on 2026-11-29.
# Guess: `parser.text_string_to_metric_families` reads the text format (0.0.4) and keeps names:
#   that format has no rule for a counter's suffix, so `ike_rekeys` stays `ike_rekeys`.
# Seen: each sample of a counter without `_total` gains it, and each family of a counter with it
#   loses it, without a warning. A gauge `ike_sas` beside a counter `ike_sas_total` gives two
#   families of one name, so a dictionary by family name holds one of them. A gauge keeps `_total`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile prometheus_client==0.26.0
cat >run.py <<'PY'
from prometheus_client.parser import text_string_to_metric_families

TEXT = """# TYPE ike_rekeys counter
ike_rekeys 1
# TYPE ike_sas gauge
ike_sas 2
# TYPE ike_sas_total counter
ike_sas_total 3
# TYPE esp_total gauge
esp_total 4
"""
families = list(text_string_to_metric_families(TEXT))
for family in families:
    print(family.type, family.name, [(sample.name, sample.value) for sample in family.samples])
print(len(families), "families,", len({family.name: family for family in families}), "by name")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = "counter ike_rekeys [('ike_rekeys_total', 1)]
gauge ike_sas [('ike_sas', 2)]
counter ike_sas [('ike_sas_total', 3)]
gauge esp_total [('esp_total', 4)]
4 families, 3 by name" ] || { echo "changed" >&2; exit 1; }
