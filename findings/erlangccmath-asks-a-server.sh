#!/usr/bin/env bash
# Package: erlangccmath 1.3.0 with requests 2.34.2 (Python 3.11), seen on 2026-11-30.
# Guess: a package of formulas of Erlang computes them, and one call knows nothing of the call before it.
# Seen: nothing is computed here: each call is a POST of its numbers to a server, whose raw answer is
#   printed. All calls share one dictionary, so each request has the numbers of the earlier ones along:
#   the occupancy of one link is asked for with the waiting time of the call before, and a user who
#   was unset is sent still. (The stand-in for the server answers 0.5.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile erlangccmath==1.3.0 requests==2.34.2
cat >run.py <<'PY'
import json
from unittest import mock
import requests
from ERLANG import BL, CHAT, setUID

class Answer:
    text = json.dumps({"status": 1, "result": [0.5]})

    def json(self):
        return json.loads(self.text)

def post(url, json):
    print("POST to", url.split(":")[0], "with", {key: json[key] for key in sorted(json)})
    return Answer()

with mock.patch.object(requests, "post", post):
    print("in time:", CHAT.SLA(Forecast=3, AHT=[2, 3], Agents=5, Awt=0.33, Patience=1))
    setUID("user of site 1")
    print("occupancy:", CHAT.OCCUPANCY(Forecast=1, AHT=[2, 3], Agents=5, Patience=1))
    setUID(None)
    print("waiting time:", BL.ASA(Forecast=1, AHT=2, Agents=5, Patience=1, Threshold=1))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
POST to https with {'AHT': [2, 3], 'Agents': 5, 'Awt': 0.33, 'Forecast': 3, 'Parallel': 2, 'Patience': 1, 'function': 'serviceLevelErlangChat'}
Response (raw): {"status": 1, "result": [0.5]}
in time: 0.5
POST to https with {'AHT': [2, 3], 'Agents': 5, 'Awt': 0.33, 'Forecast': 1, 'Parallel': 2, 'Patience': 1, 'UID': 'user of site 1', 'function': 'occupancyErlangChat'}
Response (raw): {"status": 1, "result": [0.5]}
occupancy: 0.5
POST to https with {'AHT': 2, 'Agents': 5, 'Awt': 0.33, 'Forecast': 1, 'Parallel': 2, 'Patience': 1, 'Threshold': 1, 'UID': 'user of site 1', 'function': 'waitingtimeBlending'}
Response (raw): {"status": 1, "result": [0.5]}
waiting time: 0.5
SEEN
