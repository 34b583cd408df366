# Foldline's recipes. `./run RECIPE` provides just itself and what a recipe needs.

set positional-arguments

binaries := env("CARGO_TARGET_DIR", justfile_directory() / "target") / "release"

# show the recipes
default:
    @just --list --unsorted

# the bundled corpus, games and replays to folded shards and decision days, with catalogs and reports under results/
demo: (run "shogi") (run "tcg")

# run a workflow, from wherever it stands: `run shogi my.yaml`; options of Snakemake behind --
run WORKFLOW *ARGS: build
    PATH="{{ binaries }}:$PATH" python3 workflows/run.py --from "{{ invocation_directory() }}" "$@"

# make the report of a workflow's results anew, and say where it is
report RESULTS="results/shogi":
    python3 workflows/report "{{ RESULTS }}" -o "{{ RESULTS }}/report.html"
    @echo "report: {{ RESULTS }}/report.html"

# run all tests, end-to-end ones on real data included
test:
    INSTA_UPDATE=no cargo test --release --locked --workspace

# measure corpus to shards beside DuckDB, and fold-pack beside zstd (about four minutes)
bench *ARGS: build
    python3 benches/run.py --bin "{{ binaries }}" "$@"

# measure the row-group cache beside the source design's, in pyarrow and numpy (about ten minutes)
bench-cache *ARGS: build
    cargo build --release --locked -p cache-warm --example replay
    python3 benches/cache.py --bin "{{ binaries }}" "$@"

# build the jobs
build:
    cargo build --release --locked --bins -p stream-write -p fold-pack -p catalog-sync -p spill-purge -p day-build -p cache-warm

# hold the code to its format and its lints
lint:
    cargo fmt --all --check
    cargo clippy --release --locked --workspace --all-targets -- --deny warnings

# accept what the snapshot tests see now, after looking at it
snapshots:
    INSTA_UPDATE=always cargo test --release --locked --package end-to-end cli::

# remove results and build products; the store stays (`spill-purge store` bounds it)
clean:
    rm -rf results
    cargo clean
