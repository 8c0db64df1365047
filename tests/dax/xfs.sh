# Sourced by init.sh. Configures an NVDIMM as an fsdax namespace, as on a server, with xfs.

set_up() {
  wait_for /sys/bus/nd/devices/namespace0.0
  show /sbin/ndctl create-namespace --force --reconfig=namespace0.0 --mode=fsdax --map=dev --align=2M || give_up "ndctl"
  wait_for /dev/pmem0
  show /sbin/mkfs.xfs -q -f -K -m reflink=0 -d su=2m,sw=1 /dev/pmem0 || give_up "mkfs.xfs"
  mount -t xfs -o dax=always,noatime /dev/pmem0 /mnt/dax || give_up "mount -o dax=always"
  show grep /mnt/dax /proc/mounts
}

run_tests() {
  . /dax/on_mount.sh
}
