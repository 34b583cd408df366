# Foldline's recipes. `./run RECIPE` provides just itself and what a recipe needs.

set positional-arguments

binaries := env("CARGO_TARGET_DIR", justfile_directory() / "target") / "release"

# show the recipes
default:
    @just --list --unsorted

# corpus and games of tests/data to folded shards under results/demo, with a summary
demo: build
    PATH="{{ binaries }}:$PATH" sh workflows/shogi/demo.sh

# run all tests, end-to-end ones on real data included
test:
    INSTA_UPDATE=no cargo test --release --locked --workspace

# measure corpus to shards beside DuckDB, and fold-pack beside zstd (about four minutes)
bench *ARGS: build
    python3 benches/run.py --bin "{{ binaries }}" "$@"

# build the jobs
build:
    cargo build --release --locked --bins -p stream-write -p fold-pack -p day-build -p catalog-sync

# hold the code to its format and its lints
lint:
    cargo fmt --all --check
    cargo clippy --release --locked --workspace --all-targets -- --deny warnings

# accept what the snapshot tests see now, after looking at it
snapshots:
    INSTA_UPDATE=always cargo test --release --locked --package end-to-end cli::

# remove results and build products
clean:
    rm -rf results
    cargo clean
