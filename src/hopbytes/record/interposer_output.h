/* Lines of this rank's output file: the members of communicators, what was sent in them, and other facts
 * that the reader needs.
 */

static void write_group(struct group *g) {
    for (int i = 0; i < g->all; i++)
        if (g->listed[i] < 0) return; /* a member of another program: its messages are counted as "outside" */
    if (g->first) fprintf(out, "between %d %d", g->id, g->first);
    else fprintf(out, "group %d", g->id);
    for (int i = 0; i < g->all; i++) fprintf(out, " %d", g->listed[i]);
    fprintf(out, "\n");
    g->named = 1;
}

static void write_counts(void) {
    if (!out) return;
    enter();
    for (struct group *g = groups; g; g = g->next) {
        if (!g->named) write_group(g);
        if (!g->named) continue;
        for (int way = 0; way < WAYS; way++) {
            struct tally *row = g->rows[way];
            for (int i = 0; row && i < g->size; i++)
                if (row[i].messages)
                    fprintf(out, "%s %d %d %d %lld %lld\n", NAMES[way], phase, g->id, g->world[i],
                        row[i].bytes, row[i].messages);
            if (row) memset(row, 0, sizeof *row * (size_t)g->size);
        }
        for (struct call *c = g->calls; c; c = c->next) {
            if (c->times)
                fprintf(out, "call %d %d %s %d %lld %lld\n", phase, g->id, KINDS[c->kind], c->root,
                    c->bytes, c->times);
            c->bytes = c->times = 0;
        }
    }
    leave();
}

static void write_facts(void) {
    if (split_types) fprintf(out, "split_type %d\n", split_types);
    if (shared_windows) fprintf(out, "shared %d\n", shared_windows);
    if (spawned) fprintf(out, "spawned %d\n", spawned);
    if (outside) fprintf(out, "outside %d\n", outside);
    split_types = shared_windows = spawned = outside = 0;
}
