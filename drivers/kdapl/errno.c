// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings of status values: completions of the provider to those of DAT, and
 * kdapl's errnos to the names of the DAT returns they stand for.
 */
#include "errno.h"

#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>

#include <dat/kdat.h>

#include "kunit.h"

/* By enum ib_wc_status, which is dense. */
static const u8 errno_wc[] = {
	[IB_WC_SUCCESS] = DAT_DTO_SUCCESS,
	[IB_WC_LOC_LEN_ERR] = DAT_DTO_ERR_LOCAL_LENGTH,
	[IB_WC_LOC_QP_OP_ERR] = DAT_DTO_ERR_LOCAL_EP,
	[IB_WC_LOC_EEC_OP_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IB_WC_LOC_PROT_ERR] = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IB_WC_WR_FLUSH_ERR] = DAT_DTO_ERR_FLUSHED,
	[IB_WC_MW_BIND_ERR] = DAT_RMR_OPERATION_FAILED,
	[IB_WC_BAD_RESP_ERR] = DAT_DTO_ERR_BAD_RESPONSE,
	[IB_WC_LOC_ACCESS_ERR] = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IB_WC_REM_INV_REQ_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_REM_ACCESS_ERR] = DAT_DTO_ERR_REMOTE_ACCESS,
	[IB_WC_REM_OP_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_RETRY_EXC_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IB_WC_RNR_RETRY_EXC_ERR] = DAT_DTO_ERR_RECEIVER_NOT_READY,
	[IB_WC_LOC_RDD_VIOL_ERR] = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IB_WC_REM_INV_RD_REQ_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_REM_ABORT_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_INV_EECN_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IB_WC_INV_EEC_STATE_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IB_WC_FATAL_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IB_WC_RESP_TIMEOUT_ERR] = DAT_DTO_ERR_RECEIVER_NOT_READY,
	[IB_WC_GENERAL_ERR] = DAT_DTO_ERR_TRANSPORT,
};

/**
 * kdapl_errno_wc - DAT completion status of a work completion
 * @status: as the provider reported it; values it has made up are flushes
 * @op: enum dat_dtos of the request, from kdapl's own context of it, since the
 *	opcode of a failed completion cannot be trusted
 *
 * Context: Any.
 * Return: the status that the event carries.
 */
enum dat_dto_completion_status kdapl_errno_wc(enum ib_wc_status status, u8 op)
{
	if ((unsigned int)status >= ARRAY_SIZE(errno_wc))
		return DAT_DTO_ERR_FLUSHED;
	if (status == IB_WC_SUCCESS || status == IB_WC_WR_FLUSH_ERR)
		return errno_wc[status];
	if (op == DAT_DTO_BIND_MW)
		return DAT_RMR_OPERATION_FAILED;
	if (op == DAT_DTO_LMR_FMR || op == DAT_DTO_LMR_INVALIDATE)
		switch (status) {
		case IB_WC_LOC_QP_OP_ERR:
		case IB_WC_LOC_PROT_ERR:
		case IB_WC_MW_BIND_ERR:
			return DAT_DTO_ERR_LOCAL_MM_ERROR;
		default:
			break;
		}
	return errno_wc[status];
}

KDAPL_EXPORT_FOR_TEST(kdapl_errno_wc);

static const struct {
	int error;
	const char *major;
	const char *minor;
} errno_names[] = {
	{ 0, "DAT_SUCCESS", "" },
	{ ECANCELED, "DAT_ABORT", "" },
	{ EADDRINUSE, "DAT_CONN_QUAL_IN_USE", "" },
	{ EADDRNOTAVAIL, "DAT_CONN_QUAL_UNAVAILABLE", "" },
	{ ENOMEM, "DAT_INSUFFICIENT_RESOURCES", "DAT_RESOURCE_MEMORY" },
	{ ENOSPC, "DAT_INSUFFICIENT_RESOURCES", "DAT_RESOURCE_QUEUE" },
	{ EIO, "DAT_INTERNAL_ERROR", "" },
	{ EBADF, "DAT_INVALID_HANDLE", "" },
	{ EINVAL, "DAT_INVALID_PARAMETER", "" },
	{ EBADFD, "DAT_INVALID_STATE", "" },
	{ EBUSY, "DAT_INVALID_STATE", "DAT_INVALID_STATE_IN_USE" },
	{ EISCONN, "DAT_INVALID_STATE", "DAT_INVALID_STATE_EP_CONNECTED" },
	{ ENOTCONN, "DAT_INVALID_STATE", "DAT_INVALID_STATE_EP_UNCONNECTED" },
	{ EALREADY, "DAT_INVALID_STATE", "DAT_INVALID_STATE_EP_CONNPENDING" },
	{ EDEADLK, "DAT_INVALID_STATE", "DAT_INVALID_STATE_INSIDE_UPCALL" },
	{ ESHUTDOWN, "DAT_INVALID_STATE", "DAT_INVALID_STATE_TORN_DOWN" },
	{ EMSGSIZE, "DAT_LENGTH_ERROR", "" },
	{ EOPNOTSUPP, "DAT_MODEL_NOT_SUPPORTED", "" },
	{ ENOSYS, "DAT_NOT_IMPLEMENTED", "" },
	{ ENODEV, "DAT_PROVIDER_NOT_FOUND", "" },
	{ EEXIST, "DAT_PROVIDER_ALREADY_REGISTERED", "" },
	{ EACCES, "DAT_PRIVILEGES_VIOLATION", "" },
	{ EPERM, "DAT_PROTECTION_VIOLATION", "" },
	{ EAGAIN, "DAT_QUEUE_EMPTY", "" },
	{ ENOBUFS, "DAT_QUEUE_FULL", "" },
	{ ETIMEDOUT, "DAT_TIMEOUT_EXPIRED", "" },
	{ EINTR, "DAT_INTERRUPTED_CALL", "" },
	{ EHOSTUNREACH, "DAT_INVALID_ADDRESS",
	  "DAT_INVALID_ADDRESS_UNREACHABLE" },
	{ EAFNOSUPPORT, "DAT_INVALID_ADDRESS",
	  "DAT_INVALID_ADDRESS_UNSUPPORTED" },
	{ EPROTONOSUPPORT, "DAT_COMM_NOT_SUPPORTED", "" },
};

/**
 * dat_strerror - names of the DAT return that an errno stands for
 * @error: 0 or a negative errno, as any other call returns it
 * @major: set to the name of the return, for ever valid
 * @minor: set to the name of the subtype, "" if there is none
 *
 * Several DAT returns can share an errno; the name is that of the usual one.
 * DAT 2.0, dat_strerror: an unknown value is an error, and still leaves
 * strings that can be printed.
 *
 * Context: Any.
 * Return: 0, or -EINVAL for a NULL pointer (nothing set) or for a value that
 * kdapl never returns.
 */
int dat_strerror(int error, const char **major, const char **minor)
{
	unsigned int i;

	if (!major || !minor)
		return -EINVAL;

	for (i = 0; i < ARRAY_SIZE(errno_names); i++)
		if (error == -errno_names[i].error) {
			*major = errno_names[i].major;
			*minor = errno_names[i].minor;
			return 0;
		}

	*major = "DAT_UNKNOWN_ERROR";
	*minor = "";
	return -EINVAL;
}
EXPORT_SYMBOL_GPL(dat_strerror);
