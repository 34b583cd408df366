#!/bin/sh
# From the bundled corpus and games to folded shards, step by step. The jobs are found on PATH.
#
# Every step is one command that can be run by hand; a second run finds its streams unchanged.
set -eu

data=tests/data/shogi
results=results/demo
mkdir -p "$results"

step() {
    printf '\n%s\n' "$1"
    shift
    printf '$ %s\n' "$*"
    "$@"
}

step 'A teacher corpus (MultiPV searches) to a stream of scores:' \
    stream-write teacher $data/teacher_corpus.parquet -o $results/teacher.mpk1 \
    --mate-scale 32000 --mate-slack 100 --eval-coef 600
step 'Self-play games (tree searches) to a stream of visit counts:' \
    stream-write selfplay $data/selfplay_games.jsonl -o $results/selfplay.mpk1
step 'Both streams read to their end, every record held to the rules:' \
    stream-write check $results/teacher.mpk1 $results/selfplay.mpk1
step 'The scores folded: one row a position, shuffled, in Parquet:' \
    fold-pack pack $results/teacher.mpk1 -o $results/teacher
step 'The visits folded. They are a set of their own: a count and a score do not add.' \
    fold-pack pack $results/selfplay.mpk1 -o $results/selfplay
step 'What is in the teacher set, and how well it is shuffled:' \
    fold-pack stats $results/teacher.set.json
step 'Both sets held to their records, every row to the rules:' \
    fold-pack verify $results/teacher.set.json $results/selfplay.set.json

printf '\nMade in %s:\n' "$results"
for file in "$results"/*; do
    printf '  %9d bytes  %s\n' "$(wc -c <"$file")" "$file"
done
printf '\nNext: fold-pack inspect %s/teacher.set.json (in target/release); README.md for your own data.\n' "$results"
