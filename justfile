# Foldline's recipes. `./run RECIPE` provides just itself and what a recipe needs.

set positional-arguments

binaries := env("CARGO_TARGET_DIR", justfile_directory() / "target") / "release"
libtorch := justfile_directory() / ".tools" / "libtorch"

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

# train-tbptt with its arguments, from wherever it stands; libtorch is set up first
train *ARGS: libtorch
    cargo build --release --locked -p train-tbptt
    cd "{{ invocation_directory() }}" && exec "{{ binaries }}/train-tbptt" "$@"

# put libtorch into .tools, unless LIBTORCH names one: about 530 MB to fetch, once
libtorch:
    @[ -n "${LIBTORCH:-}" ] || python3 tools/libtorch.py "{{ libtorch }}"

# run all tests, end-to-end ones on real data included; those of the trainer where libtorch is there
test:
    INSTA_UPDATE=no cargo test --release --locked --workspace --exclude train-tbptt
    @if [ -n "${LIBTORCH:-}" ] || [ -f "{{ libtorch }}/build-version" ]; then \
        INSTA_UPDATE=no cargo test --release --locked -p train-tbptt; \
    else \
        echo "train-tbptt was not tested: there is no libtorch; ./run test-train sets it up"; \
    fi

# seconds of a training step beside the same model in PyTorch; FOLDLINE_TORCH names a Python with torch and pyarrow
bench-train: libtorch
    cargo test --release --locked -p train-tbptt --lib -- --ignored --nocapture beside_the_twin

# whether it learns: the full model, three seeds, with and without memory (hours on two cores; --small for minutes)
learn *ARGS: build libtorch
    cargo build --release --locked -p train-tbptt
    python3 benches/learn.py --bin "{{ binaries }}" "$@"

# run the tests of the trainer; libtorch is set up first
test-train: libtorch
    INSTA_UPDATE=no cargo test --release --locked -p train-tbptt

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
    cargo clippy --release --locked --workspace --exclude train-tbptt --all-targets -- --deny warnings

# hold the trainer to the lints; libtorch is set up first
lint-train: libtorch
    cargo clippy --release --locked -p train-tbptt --all-targets -- --deny warnings

# accept what the snapshot tests see now, after looking at it
snapshots:
    INSTA_UPDATE=always cargo test --release --locked --package end-to-end cli::

# remove results and build products; the store stays (`spill-purge store` bounds it)
clean:
    rm -rf results
    cargo clean
