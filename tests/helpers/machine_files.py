"""Small files that describe machines, as resource managers and other tools write them."""

SLURM = """\
# two racks below one root
SwitchName=root Switches=rack[1-2]
SwitchName=rack1 Nodes=n[1-2],\\
n3
switchname=rack2 nodes=n[4-5] LinkSpeed=1
"""
SCONTROL = """\
SwitchName=root Level=1 LinkSpeed=1 Nodes=n[1-5] Switches=rack[1-2]
SwitchName=rack1 Level=0 LinkSpeed=1 Nodes=n[1-3]
SwitchName=rack2 Level=0 LinkSpeed=1 Nodes=n[4-5]
"""
YAML = """\
- topology: wide
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: rack[1-2]
      - switch: rack1
        nodes: n[1-3]
      - switch: rack2
        nodes: n[4-5]
- topology: blocks
  block:
    block_sizes: [2, 4]
    blocks:
      - {block: a, nodes: "m[1-2]"}
      - {block: b, nodes: "m[3-4]"}
      - {block: c, nodes: "m[5-6]"}
- topology: pod
  torus3d:
    toruses:
      - name: one
        dims: {x: 2, y: 1, z: 2}
        nodes: t[1-4]
"""
SIMGRID = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="w" routing="Full">
<cluster id="a" prefix="a" radical="0-2,7" suffix=".x" bw="1Gbps" lat="1us" bb_bw="2.25GBps" router_id="ra"/>
<cluster id="b" prefix="b" radical="0-1" bw="125MBps" lat="1us" sharing_policy="SHARED" router_id="rb"/>
<link id="wan" bandwidth="1KiBps" latency="1ms"/>
<zoneRoute src="a" dst="b" gw_src="ra" gw_dst="rb"><link_ctn id="wan"/></zoneRoute>
</zone></platform>
"""


def put(tmp_path, text, name="file"):
    """Write a file; return its path as text."""
    path = tmp_path / name
    path.write_text(text)
    return str(path)
