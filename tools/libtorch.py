#!/usr/bin/env python3
"""Usage: libtorch.py DEST — puts libtorch into DEST: lib/, include/, build-version.

The libraries come from the wheel of PyTorch, which pip fetches, or takes from its cache, and holds to the hash in
requirements/libtorch.txt. Of the wheel only what a CPU (and, on macOS, the GPU) needs is kept. TORCH_WHEEL=FILE
names a wheel that is there already; it is held to the same hash. DEST appears whole or not at all.

On Linux the wheel's library names two libraries of CUDA, for tracing, which are never called on a CPU. Small
libraries that answer every call with an error stand in for them: so a C compiler and readelf are needed.
"""

import fcntl
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / "libtorch.txt"
# the library is the same in the wheels of every Python: one of them is pinned
PYTHON = ["--python-version", "311", "--implementation", "cp", "--abi", "cp311"]
KEPT = {
    ("Linux", "x86_64"): ("manylinux_2_28_x86_64", ["libtorch_cpu.so", "libc10.so", "libgomp.so.1"]),
    ("Darwin", "arm64"): (
        "macosx_14_0_arm64",
        ["libtorch.dylib", "libtorch_cpu.dylib", "libc10.dylib", "libomp.dylib"],
    ),
}


def fail(what, hint):
    sys.exit(f"libtorch: {what}\n  hint     {hint}")


def pinned():
    """The version, and the hashes of its wheels."""
    text = REQUIREMENTS.read_text()
    return re.search(r"^torch==(\S+)", text, re.M)[1], re.findall(r"sha256:([0-9a-f]{64})", text)


def fetch(folder, tag, version, hashes):
    """The wheel: the one that TORCH_WHEEL names, or pip's."""
    wheel = os.environ.get("TORCH_WHEEL")
    if not wheel:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        options = ["--require-hashes", "--only-binary", ":all:", *PYTHON, "--platform", tag, "--dest", str(folder)]
        if subprocess.run([*pip, *options, "--requirement", str(REQUIREMENTS)]).returncode:
            fail(
                f"pip could not fetch torch {version}",
                "is the network there? TORCH_WHEEL=FILE takes a wheel from the disk, LIBTORCH=DIR a whole libtorch",
            )
        (wheel,) = folder.glob("torch-*.whl")
    with open(wheel, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found not in hashes:
        fail(f"{wheel} has the SHA-256 {found}", f"{REQUIREMENTS} names the wheels that are taken")
    return wheel


def unpack(wheel, libraries, into):
    """The libraries to lib/, the headers to include/."""
    wanted = {f"torch/lib/{name}" for name in libraries}
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name in wanted or name.startswith("torch/include/")]
        missing = wanted.difference(names)
        if missing:
            fail(f"the wheel has no {', '.join(sorted(missing))}", "is it torch's own?")
        archive.extractall(into, names)
    (into / "torch/include").rename(into / "include")
    (into / "torch/lib").rename(into / "lib")
    (into / "torch").rmdir()


def stand_in(lib, name, symbols):
    """A library `name` with functions of these names, which report an error."""
    texts = {"cudaGetErrorString": 'const char *cudaGetErrorString(int e) { (void)e; return "no CUDA"; }'}
    texts["cuptiGetResultString"] = (
        'int cuptiGetResultString(int e, const char **s) { (void)e; *s = "no CUPTI"; return 0; }'
    )
    source, exports = lib / "stand_in.c", lib / "stand_in.map"
    source.write_text("\n".join(texts.get(symbol, f"int {symbol}(void) {{ return 100; }}") for symbol in symbols))
    exports.write_text(f"{name} {{ global: {' '.join(symbol + ';' for symbol in symbols)} local: *; }};")
    linker = [f"-Wl,-soname,{name}", f"-Wl,--version-script,{exports}"]
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", str(lib / name), str(source), *linker]
    if shutil.which(command[0]) is None or subprocess.run(command).returncode:
        fail("a C compiler is needed", "install one (Debian, Ubuntu: apt install gcc), or name it: CC=...")
    source.unlink()
    exports.unlink()


def without_cuda(lib):
    """Stand-ins for what libtorch_cpu.so needs of CUDA."""
    if shutil.which("readelf") is None:
        fail("readelf was not found", "install binutils (Debian, Ubuntu: apt install binutils)")
    read = lambda *options: subprocess.run(
        ["readelf", *options, str(lib / "libtorch_cpu.so")], check=True, capture_output=True, text=True
    ).stdout
    needed = re.findall(r"\[(lib(?:cudart|cupti)\.so\.\d+)\]", read("-dW"))
    undefined = re.findall(r" UND (\w+)@(\S+)", read("--dyn-syms", "-W"))
    for name in needed:
        stand_in(lib, name, sorted({symbol for symbol, there in undefined if there == name}))
    (lib / "libtorch.so").symlink_to("libtorch_cpu.so")


def main(dest):
    version, hashes = pinned()
    mark = dest / "build-version"
    there = lambda: mark.is_file() and mark.read_text().strip() == version
    if there():
        return
    machine = (platform.system(), platform.machine())
    if machine not in KEPT:
        fail(
            f"no wheel is pinned for {' '.join(machine)}",
            "set LIBTORCH to a libtorch " + version + " of your own",
        )
    tag, libraries = KEPT[machine]
    dest.parent.mkdir(parents=True, exist_ok=True)
    lock = open(dest.parent / ".libtorch.lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    if there():
        return
    print(f"libtorch: setting up {version} in {dest}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix=".libtorch.", dir=dest.parent) as folder:
        folder = pathlib.Path(folder)
        made = folder / "libtorch"
        unpack(fetch(folder, tag, version, hashes), libraries, made)
        if machine[0] == "Linux":
            without_cuda(made / "lib")
        (made / "build-version").write_text(version + "\n")
        if dest.exists():
            dest.rename(folder / "old")
        made.rename(dest)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(os.path.abspath(sys.argv[1])))
