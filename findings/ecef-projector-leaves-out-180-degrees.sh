#!/usr/bin/env bash
# Package: ecef-projector 1.0.1 (Node 20), seen on 2026-11-30.
# Guess: a position in metres from the centre of the Earth, as GNSS receivers and ephemerides of
#   satellites have it, becomes latitude, longitude and altitude in the whole range: the meridian of
#   180 degrees and the poles too, and an altitude of a satellite as well as that of an antenna.
# Seen: at 180 degrees the longitude is 0, the other side of the Earth; a metre beside it is right.
#   At the north pole the latitude is -90 degrees, the longitude not a number and the altitude 6399
#   km below ground, whatever it was; a pole that the package has projected itself is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ecef-projector@1.0.1 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { project, unproject } = require("ecef-projector");
const show = (name, position) =>
  console.log(name + ":", unproject(...position).map((value) => value.toFixed(3)).join(", "));
show("one metre east of 180 degrees", [-6281872.83, -1, 1100248.548]);
show("180 degrees", [-6281872.83, 0, 1100248.548]);
show("one metre west of 180 degrees", [-6281872.83, 1, 1100248.548]);
show("north pole", [0, 0, 6356752.3142]);
show("500 km above the north pole", [0, 0, 6856752.3142]);
show("500 km above the north pole, projected", project(90, 0, 500000));
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
one metre east of 180 degrees: 10.000, -180.000, 0.000
180 degrees: 10.000, 0.000, 0.000
one metre west of 180 degrees: 10.000, 180.000, 0.000
north pole: -90.000, NaN, -6399593.626
500 km above the north pole: -90.000, NaN, -6399593.626
500 km above the north pole, projected: 90.000, 0.000, 500000.000
SEEN
