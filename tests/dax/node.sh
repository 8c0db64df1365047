# Sourced by init.sh. Makes an NVDIMM ordinary memory far from every CPU: NUMA node 1. A CXL memory expander looks
# the same.

set_up() {
  wait_for /sys/bus/nd/devices/namespace0.0
  show /sbin/ndctl create-namespace --force --reconfig=namespace0.0 --mode=devdax --map=mem --align=2M || give_up "ndctl"
  wait_for /dev/dax0.0
  show /sbin/daxctl reconfigure-device --mode=system-ram dax0.0 || give_up "daxctl"
  wait_for /sys/devices/system/node/node1
  show cat /sys/devices/system/node/has_memory /sys/devices/system/node/has_cpu
  show grep MemTotal /sys/devices/system/node/node0/meminfo /sys/devices/system/node/node1/meminfo
}

run_tests() {
  TICKSTACK_FAR_NODE=1 run_gtest /dax/dax_test 'FarNode.*'
}
