#!/bin/sh
# The guest's first process: sets up what `dax_guest` on the kernel's command line names, prints what the kernel
# reports about it, runs the tests, and writes one word, passed or failed, to the second serial line.
#
# Tools that busybox has itself, such as mke2fs, are called by path, because its shell prefers its own.
export PATH=/sbin:/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
ip link set lo up

finish() {
  echo "$1" > /dev/ttyS1
  reboot -f  # Ends QEMU.
}
# Ends the test because a prerequisite is missing.
give_up() {
  echo "FAILED: $1"
  dmesg | tail -n 30
  finish failed
}
# Device nodes appear a moment after their cause.
wait_for() {
  tries=0
  until [ -e "$1" ]; do
    tries=$((tries + 1))
    [ $tries -le 500 ] || give_up "$1 did not come up"
    usleep 20000
  done
}
show() {
  echo "\$ $*"
  "$@"
}
# run_gtest PROGRAM FILTER: fails unless tests ran, all passed and none was skipped.
run_gtest() {
  { "$1" --gtest_filter="$2" --gtest_color=no 2>&1; echo $? > /tmp/exit_code; } | tee /tmp/tests
  [ "$(cat /tmp/exit_code)" = 0 ] && grep -q '^\[  PASSED  \] [1-9]' /tmp/tests && ! grep -q '^\[  SKIPPED' /tmp/tests
}

while read -r module; do
  insmod "/modules/$module" || give_up "module $module"
done < /modules/order

. "/dax/$dax_guest.sh"

show uname -r
show cat /proc/cmdline
set_up
show sh -c "dmesg | grep -iE 'pmem|persistent|nfit|namespace|dax' | grep -vE 'ommand line|dax_guest' | cut -c 1-150"
run_tests && finish passed
finish failed
