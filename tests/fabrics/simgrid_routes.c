/* Prints every route of a SimGrid platform: source, target and the links, a line each. */
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <stdio.h>
#include <xbt/dynar.h>

int main(int argc, char** argv)
{
  simgrid_init(&argc, argv);
  simgrid_load_platform(argv[1]);
  simgrid_run(); /* without actors: only now zones put their routes together */
  size_t count = sg_host_count();
  sg_host_t* hosts = sg_host_list();
  for (size_t from = 0; from < count; from++)
    for (size_t to = 0; to < count; to++) {
      if (from == to)
        continue;
      xbt_dynar_t links = xbt_dynar_new(sizeof(sg_link_t), NULL);
      sg_host_get_route(hosts[from], hosts[to], links);
      printf("%s %s", sg_host_get_name(hosts[from]), sg_host_get_name(hosts[to]));
      unsigned int place;
      sg_link_t link;
      xbt_dynar_foreach (links, place, link)
        printf(" %s", sg_link_get_name(link));
      printf("\n");
      xbt_dynar_free(&links);
    }
  return 0;
}
