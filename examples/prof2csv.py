#!/usr/bin/env python3
"""Turn the .prof files of Open MPI's monitoring component into two dense CSV matrices.

usage: prof2csv.py NPROCS OUT PREFIX      reads PREFIX.0.prof ... PREFIX.<NPROCS-1>.prof,
                                          writes OUT.csv (bytes) and OUT.count.csv (messages)

Row = sending rank, column = receiving rank (ranks of MPI_COMM_WORLD), no header.
Summed record types, one line per pair: "<type> <rank> <peer> <n> bytes <m> msgs sent ..."
  E  point-to-point messages sent by the application
  I  point-to-point messages sent inside the library (this is how collectives travel)
  S  one-sided data sent (put);  R  one-sided data received (get), so it flows peer -> rank
Left out: C, which describes the collectives once more (their messages are already in I),
and D, O2A, A2O, A2A, which are totals per communicator.
"""
import sys


def read(nprocs, prefix):
    """Return {type: (bytes matrix, count matrix)} as lists of rows."""
    mats = {t: tuple([[0] * nprocs for _ in range(nprocs)] for _ in range(2)) for t in "EISR"}
    for rank in range(nprocs):
        with open(f"{prefix}.{rank}.prof") as f:
            for line in f:
                field = line.rstrip().split("\t")
                if field[0] not in mats:
                    continue
                src, dst = int(field[1]), int(field[2])
                if src != rank:
                    sys.exit(f"{f.name}: line of rank {src} in the file of rank {rank}")
                if field[0] == "R":
                    src, dst = dst, src
                size, count = mats[field[0]]
                size[src][dst] += int(field[3].split()[0])
                count[src][dst] += int(field[4].split()[0])
    return mats


def main():
    """Read the files the command line names and write both matrices."""
    nprocs, out, prefix = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    mats = read(nprocs, prefix)
    for t, (size, count) in mats.items():
        print(t, "bytes", sum(map(sum, size)), "messages", sum(map(sum, count)))
    for k, name in enumerate((out + ".csv", out + ".count.csv")):
        with open(name, "w") as f:
            for i in range(nprocs):
                row = (sum(m[k][i][j] for m in mats.values()) for j in range(nprocs))
                f.write(",".join(map(str, row)) + "\n")


if __name__ == "__main__":
    main()
