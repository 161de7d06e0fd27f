#!/usr/bin/env bash
# Package: aei-3gpp-kpi-validator 0.1.2 (Python 3.11), seen on 2026-11-30.
# Guess: "real TS-derived range checks for RSRP, RSRQ, SINR" let pass what a gNB reports: TS 38.133
#   has -156 to -31 dBm for SS-RSRP (10.1.6), -43 to 20 dB for SS-RSRQ (10.1.11), -23 to 40 dB for
#   SS-SINR (10.1.16). An NB-IoT cell may page each 1024 frames (DL default paging cycle in TS
#   36.331), and a cycle of eDRX has 1024 hyperframes of 1024 frames at most (TS 36.304).
# Seen: RSRP and RSRQ have the first ranges of LTE, -140 to -44 and -20 to -3, and SINR -20 to 30.
#   Readings beyond them are counted as wrong and replaced by the bound: an RSRP of -150 is -140, an
#   RSRQ of -25 is -20. Of NB-IoT cells, those with a paging cycle of 512 or 1024 frames and those
#   with the long cycles of eDRX are left out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile aei-3gpp-kpi-validator==0.1.2 pandas==2.3.3
cat >run.py <<'PY'
import logging
import pandas
from aei_3gpp_kpi_validator import KPIValidator

logging.disable()
validator = KPIValidator()
reports = pandas.DataFrame({
    "rsrp": [-156, -150, -90, -31],
    "rsrq": [-43, -25, -10, 20],
    "sinr": [-23, 10, 35, 40],
})
for kpi in reports:
    outcome = validator.validate_column(reports, kpi)
    print(kpi, list(reports[kpi]), "becomes", list(outcome.validated),
          f"and {outcome.out_of_range_count} are out of range")
cells = pandas.DataFrame({"paging_cycle": [128, 256, 512, 1024, 256, 256],
                          "edrx_cycle": [2048, 262144, 2048, 2048, 524288, 1048576]})
print("paging and eDRX", validator.validate_nbiot_power_profile(cells).values.tolist())
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
rsrp [-156, -150, -90, -31] becomes [-140, -140, -90, -44] and 3 are out of range
rsrq [-43, -25, -10, 20] becomes [-20, -20, -10, -3] and 3 are out of range
sinr [-23, 10, 35, 40] becomes [-20, 10, 30, 30] and 3 are out of range
paging and eDRX [[128, 2048], [256, 262144]]
SEEN
