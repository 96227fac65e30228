"""Experts of a mixture-of-experts layer on GPUs, so that the experts of a token are on few hosts.

    python examples/place_experts.py

A layer has 64 experts, 8 hosts have 4 GPUs each, and every token goes to 4 experts. A token is sent once to
every host that has some of its experts. The busiest experts are replicated until there are 96, 3 on each GPU.
"""

import numpy as np

import hopbytes as hb

EXPERTS, REPLICAS, HOSTS, GPUS, TOKENS, TOP = 64, 96, 8, 4, 5_000, 4


def recorded_routing(seed=1):
    """Return int[tokens, top], the experts of every token; a model's router would be recorded here."""
    rng = np.random.default_rng(seed)
    topic = rng.permutation(EXPERTS).reshape(8, 8)  # experts that are chosen together
    popular = rng.zipf(1.6, TOKENS) % 8
    tokens = []
    for group in popular:
        own = rng.choice(topic[group], TOP - 1, replace=False)
        other = rng.choice(np.setdiff1d(np.arange(EXPERTS), own))
        tokens.append([*own, other])
    return np.array(tokens)


def replicated(load):
    """Return the expert of every replica: the expert with the largest load per replica gets the next one."""
    copies = np.ones(len(load), int)
    while copies.sum() < REPLICAS:
        copies[np.argmax(load / copies)] += 1
    return np.repeat(np.arange(len(load)), copies)


def together(tokens):
    """Return int[experts, experts]: how many tokens go to both experts."""
    chosen = np.zeros((len(tokens), EXPERTS), np.int64)
    np.put_along_axis(chosen, tokens, 1, axis=1)
    count = chosen.T @ chosen
    np.fill_diagonal(count, 0)
    return count


def copies_sent(tokens, expert, host):
    """Return the mean number of hosts that a token is sent to, each replica taking its turn."""
    total = 0
    for number, token in enumerate(tokens):
        best = {int(host[expert == token[0]][number % np.sum(expert == token[0])])}
        for one in token[1:]:
            hosts = host[expert == one].tolist()
            if best.isdisjoint(hosts):  # no replica on a host that has the token already
                best.add(hosts[number % len(hosts)])
        total += len(best)
    return total / len(tokens)


def main():
    tokens = recorded_routing()
    load = np.bincount(tokens.ravel(), minlength=EXPERTS)
    expert = replicated(load)
    copies = np.bincount(expert)
    # Replicas share the tokens of their expert evenly.
    matrix = together(tokens)[np.ix_(expert, expert)] // np.outer(copies[expert], copies[expert])
    graph = hb.CommGraph.from_dense(matrix)
    where = hb.allocate(f"node:{HOSTS}@10 gpu:{GPUS}@1")
    mapping = hb.map_tasks(graph, hb.allocate(where, oversubscribe=True), partition=False)
    share = load[expert] / copies[expert]
    in_order = np.arange(REPLICAS) * where.k // REPLICAS
    for name, gpu in (("in order", in_order), ("mapped", mapping.pe)):
        replicas, work = np.bincount(gpu), np.bincount(gpu, share)
        hosts = copies_sent(tokens, expert, where.node_of_pe[gpu])
        most = work.max() / work.mean()
        print(
            f"{name}: {hosts:.2f} hosts a token, {replicas.min()} to {replicas.max()} replicas on a GPU, "
            f"the busiest has {most:.2f} of the mean load"
        )


if __name__ == "__main__":
    main()
