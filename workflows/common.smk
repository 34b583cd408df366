# What all workflows share. run.py hands over the configuration with absolute paths, and puts the jobs on PATH.

import json
import shutil
import subprocess
from pathlib import Path
from shlex import quote

from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

validate(config, Path(workflow.main_snakefile).with_name("config.schema.yaml"))

STORED = f"--store {quote(config['store'])}"
REPORT = str(Path(workflow.basedir).parent / "report")


def source_of(entry, *kinds):
    """The source that an entry of the configuration names by one of these keys."""
    return next(entry[kind] for kind in kinds if kind in entry)


def flags(options):
    """Options of a job from a mapping: true is a bare flag, false and nothing are left out."""
    words = []
    for key, value in options.items():
        if value is True:
            words.append(f"--{key}")
        elif value is not False and value is not None:
            words.append(f"--{key} {quote(str(value))}")
    return " ".join(words)


def programs(*jobs):
    """Where jobs lie."""
    return [shutil.which(job) or job for job in jobs]


def digests(paths):
    """Digests of files, by path. The store's memo knows those that are as they were."""
    command = ["spill-purge", "digest", "--json", "--store", config["store"], *paths]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise WorkflowError(done.stderr.strip())
    return {file["path"]: file["sha256"] for file in json.loads(done.stdout)["files"]}


def build(job):
    """Digest of a job's program."""
    return DIGESTS[programs(job)[0]]


def report_build():
    """Digests of the report's files."""
    return digests(sorted(map(str, Path(REPORT).rglob("*.py"))))
