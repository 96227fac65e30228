"""Examples for the help texts: what they do, and what to type."""

#: Verb → what it does, for the overview; loading every verb for that would take too long.
SUMMARIES = {
    "record": "Run an MPI program and record its communication pattern.",
    "probe": "Ask the nodes of a job for their cores and GPUs.",
    "map": "Map a pattern to a machine and write launch files.",
    "eval": "Evaluate a mapping beside the launcher's own order.",
    "report": "Write a page with verdict, charts and tables of mappings.",
    "simulate": "Predict how long the messages of a pattern take.",
    "advise": "Is another placement worth it? What to type.",
    "compare": "Compare two mappings of a pattern.",
    "run": "Map a program for this job and start it.",
    "verify": "Check where a launch really puts the ranks.",
    "write": "Write launch files from a stored mapping.",
    "locate": "Find out where a launcher puts ranks by default.",
    "bench-pattern": "Benchmark the messages of a pattern under real MPI.",
    "measure": "Measure latency and bandwidth of a machine.",
    "show": "Describe a machine, pattern, mapping or algorithm.",
    "list": "List mappers, presets, machines, formats, …",
    "convert": "Convert a pattern to another format.",
    "compare-runs": "Compare results of benchmark runs.",
    "map-distributed": "Map a graph by several MPI processes.",
    "eval-distributed": "Evaluate such a mapping in parallel.",
    "completion": "Print the completion script of bash, zsh or fish.",
}

#: The first commands, for users who type `hopbytes` alone.
START = (
    ("record a program", "hopbytes record -o app.pattern -- mpirun -n 64 ./app"),
    ("map it and see what is gained", "hopbytes map app.pattern --on 'node:6 core:12' -o app.json"),
    ("start it on its mapping", "hopbytes run --pattern app.pattern -- mpirun -n 64 ./app"),
)


#: Verb → (what it does, command). A test parses every command.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "record": (
        ("Record which rank sends how much to which", "hopbytes record -o app.pattern -- mpirun -n 64 ./app"),
    ),
    "probe": (
        (
            "Store the machine of a Slurm job of 16 nodes",
            "hopbytes probe -o job.machine.json -- srun -N16 -n16",
        ),
    ),
    "map": (
        (
            "64 ranks on 6 nodes of 12 cores, for Open MPI",
            "hopbytes map app.pattern --on 'node:6 core:12' --format openmpi -o rankfile",
        ),
        ("Map inside a job, store the result", "hopbytes map app.pattern --on job.machine.json -o app.json"),
        (
            "Partition a mesh with more effort",
            "hopbytes map stencil:512x512 --on 'node:8 core:16' --preset strong -o part.txt",
        ),
    ),
    "eval": (
        ("Is a mapping better than the launcher's own order?", "hopbytes eval app.pattern app.json"),
        (
            "What is the default mapping of srun worth?",
            "hopbytes eval app.pattern --on 'node:8 core:8' --placement block",
        ),
    ),
    "report": (
        ("A page about a stored mapping", "hopbytes report app.pattern app.json -o report.html"),
        (
            "What would a mapping gain on another machine?",
            "hopbytes report app.pattern --on 'torus:4x4x4' --preset strong -o report.html",
        ),
    ),
    "simulate": (
        (
            "How long do the messages take on a mapping?",
            "hopbytes simulate app.pattern app.json",
        ),
        (
            "And with nodes filled in order, on a torus?",
            "hopbytes simulate app.pattern --on 'torus:8x8:lat=1e-7:bw=10000000000 / core:4'",
        ),
    ),
    "advise": (
        (
            "Is it worth it for 64 ranks on 8 nodes?",
            "hopbytes advise app.pattern --on 'node:8 core:8'",
        ),
    ),
    "compare": (("Which of two mappings is better?", "hopbytes compare app.pattern eco.json strong.json"),),
    "run": (
        (
            "Map to the nodes of this job, then start the program",
            "hopbytes run --pattern app.pattern -- mpirun -n 64 ./app",
        ),
        (
            "Print the command without starting it",
            "hopbytes run --pattern app.pattern --dry-run -o rankfile -- mpirun -n 64 ./app",
        ),
    ),
    "verify": (
        ("Does every rank start where the mapping puts it?", "hopbytes verify app.json -- mpirun -n 64"),
    ),
    "write": (
        (
            "Launch files for other nodes of the same kind",
            "hopbytes write app.json --hosts 'n[21-26]' --format slurm -o hostfile",
        ),
    ),
    "locate": (
        (
            "Where does srun put the ranks by default?",
            "hopbytes locate --on job.machine.json -o now.json -- srun -n 64 -m cyclic",
        ),
    ),
    "bench-pattern": (
        ("Time of the messages on a mapping", "hopbytes bench-pattern app.pattern app.json -- mpirun -n 64"),
        ("The launcher's own order alone", "hopbytes bench-pattern app.pattern - -- mpirun -n 64"),
    ),
    "measure": (
        (
            "Measure latency and bandwidth of a job",
            "hopbytes measure --on job.json -o measured.json -- mpirun -n 64",
        ),
    ),
    "show": (
        ("The distances of a machine", "hopbytes show 'node:6@10 package:2@3 core:6@1'"),
        ("Which ranks are on which node", "hopbytes show app.json"),
        ("The algorithms of a preset", "hopbytes show strong"),
    ),
    "list": (
        ("What can be listed", "hopbytes list"),
        ("The presets, and when to use which", "hopbytes list presets"),
    ),
    "convert": (("A matrix for METIS", "hopbytes convert app.csv app.graph --symmetrize"),),
    "compare-runs": (
        (
            "Benchmark runs against another program",
            "hopbytes compare-runs results.jsonl --baseline sharedmap:strong",
        ),
    ),
    "map-distributed": (
        (
            "Map a graph on 64 processes, none of which holds all of it",
            "hopbytes map-distributed mesh.parhip --on 'node:8@10 core:4@1' -o mesh.npy",
        ),
    ),
    "eval-distributed": (
        (
            "J and cut of that mapping, also on several processes",
            "hopbytes eval-distributed mesh.parhip mesh.npy --on 'node:8@10 core:4@1'",
        ),
    ),
    "completion": (("Use completion in this bash", 'eval "$(hopbytes completion bash)"'),),
}
