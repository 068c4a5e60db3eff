# The job of "make run": output goes to the user's terminal.

. /lib/kdapl/lib.sh

echo "kdapl is loaded:"
cat /proc/modules | grep kdapl
rdma link
