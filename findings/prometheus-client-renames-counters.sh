#!/usr/bin/env bash
# Package: prometheus_client 0.26.0 (Python 3.11), seen on 2026-11-30.
# Guess: `text_string_to_metric_families` reads the text format 0.0.4 as it stands: a counter need
#   not end in `_total` there (OpenMetrics asks for it), and those of Open5GS do not.
# Seen: `_total` is added to the samples of each counter without it. Code that looks a counter up by
#   the name that the page shows finds nothing; a filter that writes the families again renames the
#   time series, so rules and dashboards see no data. Gauges and untyped samples keep their names.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet prometheus_client==0.26.0
cat >"$folder/run.py" <<'PY'
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families as read

PAGE = """# HELP fivegs_amffunction_rm_reginitreq Number of initial registration requests
# TYPE fivegs_amffunction_rm_reginitreq counter
fivegs_amffunction_rm_reginitreq 7
# HELP pfcp_peers_total PFCP associations
# TYPE pfcp_peers_total counter
pfcp_peers_total 1
# HELP gnb Number of gNBs
# TYPE gnb gauge
gnb 2
"""

class Again:
    def collect(self):
        return read(PAGE)

names = [sample.name for family in read(PAGE) for sample in family.samples]
print("read   ", names)
assert names == ["fivegs_amffunction_rm_reginitreq_total", "pfcp_peers_total", "gnb"]
again = generate_latest(Again()).decode()
lines = [line for line in again.splitlines() if not line.startswith("#")]
print("written", lines)
assert lines == ["fivegs_amffunction_rm_reginitreq_total 7.0", "pfcp_peers_total 1.0", "gnb 2.0"]
PY
"$folder/venv/bin/python" "$folder/run.py"
echo "as stated"
