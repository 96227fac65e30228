"""The verbs in the order in which people meet them, with the texts that help shows of each."""

from __future__ import annotations

from hopbytes._frozen import frozen


@frozen
class VerbText:
    """Where the function of a verb is, what the verb is for, and what to type."""

    module: str  # ``hopbytes.cli.<module>`` has a function of the name of the verb, with underscores
    summary: str
    examples: tuple[tuple[str, str], ...]  # what a command does, and the command; a test parses each


VERBS = {
    "record": VerbText("verb_record", "Run an MPI program and record its communication pattern.", (
        ("Record which rank sends how much to which", "hopbytes record -o app.pattern -- mpirun -n 64 ./app"),
    )),
    "probe": VerbText("verb_record", "Ask the nodes of a job for their hardware, or measure its network.", (
        ("Store the machine of a Slurm job of 16 nodes",
         "hopbytes probe -o job.machine.json -- srun -N16 -n16"),
        ("Measure latency and bandwidth of a job",
         "hopbytes probe --measure --on job.machine.json -o measured.json -- mpirun -n 64"),
    )),
    "map": VerbText("verb_map", "Map a pattern to a machine and write launch files.", (
        ("64 ranks on 6 nodes of 12 cores, for Open MPI",
         "hopbytes map app.pattern --on 'node:6 core:12' --format openmpi -o rankfile"),
        ("Map inside a job, store the result", "hopbytes map app.pattern --on job.machine.json -o app.json"),
        ("Partition a mesh with more effort",
         "hopbytes map stencil:512x512 --on 'node:8 core:16' --preset strong -o part.txt"),
        ("Two phases of a program, of which one runs three times as often",
         "hopbytes map a.pattern b.pattern --phase-weights 3,1 --on 'node:8 core:8'"),
        ("Map a graph on 64 processes, none of which holds all of it",
         "mpirun -n 64 hopbytes map --distributed mesh.parhip --on 'node:8' -o mesh.npy"),
    )),
    "eval": VerbText("verb_eval", "Evaluate mappings beside the launcher's own order, or side by side.", (
        ("Is a mapping better than the launcher's own order?", "hopbytes eval app.pattern app.json"),
        ("What is the default mapping of srun worth?",
         "hopbytes eval app.pattern --on 'node:8 core:8' --order block"),
        ("Which of two mappings is better?", "hopbytes eval app.pattern eco.json strong.json"),
        ("J and cut of a mapping, on several processes",
         "mpirun -n 64 hopbytes eval --distributed mesh.parhip mesh.npy --on 'node:8'"),
    )),
    "report": VerbText("verb_eval", "Write a page with verdict, charts and tables of mappings.", (
        ("A page about a stored mapping", "hopbytes report app.pattern app.json -o report.html"),
        ("What would a mapping gain on another machine?",
         "hopbytes report app.pattern --on 'torus:4x4x4' --preset strong -o report.html"),
    )),
    "simulate": VerbText("verb_eval", "Predict how long the messages of a pattern take.", (
        ("How long do the messages take on a mapping?", "hopbytes simulate app.pattern app.json"),
        ("And with nodes filled in order, on a torus?",
         "hopbytes simulate app.pattern --on 'torus:8x8:lat=1e-7:bw=10000000000 / core:4'"),
    )),
    "advise": VerbText("verb_eval", "Is another mapping worth it? What to type.", (
        ("Is it worth it for 64 ranks on 8 nodes?", "hopbytes advise app.pattern --on 'node:8 core:8'"),
    )),
    "run": VerbText("verb_run", "Map a program for this job and start it.", (
        ("Map to the nodes of this job, then start the program",
         "hopbytes run --pattern app.pattern -- mpirun -n 64 ./app"),
        ("Print the command without starting it",
         "hopbytes run --pattern app.pattern --dry-run -o rankfile -- mpirun -n 64 ./app"),
    )),
    "env": VerbText("verb_run", "Print variables instead of options, for launchers inside scripts.", (
        ("Map, and let the srun of a script follow it",
         "hopbytes env app.pattern --on job --format slurm"),
        ("The best order for a hidden mpirun, without any file",
         "hopbytes env app.pattern --on 'node:8 core:8' --format openmpi --no-file"),
    )),
    "verify": VerbText("verb_run", "Find out where a launch really puts the ranks.", (
        ("Does every rank start where the mapping puts it?", "hopbytes verify app.json -- mpirun -n 64"),
        ("Where does srun put the ranks by default?",
         "hopbytes verify --on job.machine.json -o now.json -- srun -n 64 -m cyclic"),
    )),
    "write": VerbText("verb_run", "Write launch files from a mapping, or convert a pattern.", (
        ("Launch files for other nodes of the same kind",
         "hopbytes write app.json --hosts 'n[21-26]' --format slurm -o hostfile"),
        ("A matrix for METIS", "hopbytes write app.csv --symmetrize -o app.graph"),
        ("What the blocks of a partition send to each other",
         "hopbytes write mesh.graph --blocks part.txt -o blocks.graph"),
    )),
    "bench-pattern": VerbText("verb_run", "Benchmark the messages of a pattern under real MPI.", (
        ("Time of the messages on a mapping", "hopbytes bench-pattern app.pattern app.json -- mpirun -n 64"),
        ("The launcher's own order alone", "hopbytes bench-pattern app.pattern - -- mpirun -n 64"),
    )),
    "show": VerbText("verb_show", "Describe a machine, pattern, mapping or algorithm; list them.", (
        ("The distances of a machine", "hopbytes show 'node:6@10 package:2@3 core:6@1'"),
        ("Which ranks are on which node", "hopbytes show app.json"),
        ("The algorithms of a preset", "hopbytes show strong"),
        ("The presets, and when to use which", "hopbytes show presets"),
    )),
}  # fmt: skip

#: The first commands, for users who type `hopbytes` alone.
START = (
    ("record a program", "hopbytes record -o app.pattern -- mpirun -n 64 ./app"),
    ("map it and see what is gained", "hopbytes map app.pattern --on 'node:6 core:12' -o app.json"),
    ("start it on its mapping", "hopbytes run --pattern app.pattern -- mpirun -n 64 ./app"),
)

#: What an exit code means, for the manual pages and ``docs/cli.md``.
EXIT_CODES = (
    ("0", "Everything went well."),
    ("1", "The input was wrong, or no mapping exists; one line on standard error says why."),
    ("2", "The command line was wrong."),
    ("130", "Ctrl-C ended the program; no file is half-written."),
    ("141", "The program that read the output has closed it."),
)
