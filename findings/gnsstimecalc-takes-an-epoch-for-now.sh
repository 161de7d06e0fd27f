#!/usr/bin/env bash
# Package: gnsstoolbox-timecalc 0.1.2 (Python 3.11), seen on 2026-11-30.
# Guess: the tool turns UTC into GPS week and seconds; the time is given as text, or as Unix
#   seconds or milliseconds, as its help says. All three give one answer.
# Seen: Unix seconds are not looked at: the answer is the GPS time of now, without an error.
#   Milliseconds end in a TypeError. At the moment at which a leap second took effect, 2017-01-01
#   00:00:00, the text ends in a TypeError too. A second before and after, the answer is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile gnsstoolbox-timecalc==0.1.2
week() {
  local out
  out=$(venv/bin/python -m timecalc "$@" 2>&1) || true
  echo "$out" | grep -oE 'GPS WEEK: .*|^TypeError.*'
}
seen=$(
  echo "text, a second before: $(week -dt '2016-12-31 23:59:59')"
  echo "text: $(week -dt '2017-01-01 00:00:00')"
  echo "text, a second after: $(week -dt '2017-01-01 00:00:01')"
  week -es 1483228801 >seconds
  week -n True >now
  now=$(sed 's/,.*//' now)
  echo "seconds: $(sed "s/$now,.*/the week of now/" seconds)"
  echo "milliseconds: $(week -em 1483228801000)"
)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
text, a second before: GPS WEEK: 1930, TOW: 16.00
text: TypeError: unsupported type for timedelta seconds component: NoneType
text, a second after: GPS WEEK: 1930, TOW: 19.00
seconds: the week of now
milliseconds: TypeError: 'datetime.timezone' object cannot be interpreted as an integer
SEEN
