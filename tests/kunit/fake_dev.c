// SPDX-License-Identifier: GPL-2.0
/* The fake device itself: registration, attributes, PDs and MRs. */
#include <linux/module.h>
#include <linux/slab.h>

#include "fake_cm.h"
#include "fake_priv.h"

static const struct fake_script fake_defaults = {
	.notify = FAKE_REPORTS_ARMS,
	.complete = FAKE_MANUAL,
	.flush = FAKE_FLUSH_INLINE,
	.cpu = -1,
};

struct fake_script fake_script;
EXPORT_SYMBOL_GPL(fake_script);

atomic_t fake_live[FAKE_OBJECTS];
struct workqueue_struct *fake_wq;
static struct fake_hca *fake_hca;

static int fake_query_device(struct ib_device *ibdev,
			     struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	struct fake_hca *hca = container_of(ibdev, struct fake_hca, ibdev);

	*attr = (struct ib_device_attr) {
		.fw_ver = 0x0002000300000004ULL,
		.hw_ver = 7,
		.max_mr_size = ~0ULL,
		.page_size_cap = PAGE_SIZE,
		.max_qp = 4096,
		.max_qp_wr = 1024,
		.device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS,
		.kernel_cap_flags = IBK_LOCAL_DMA_LKEY,
		.max_send_sge = 16,
		.max_recv_sge = 16,
		.max_sge_rd = 16,
		.max_cq = 4096,
		.max_cqe = 8192,
		.max_mr = 4096,
		.max_pd = 1024,
		.max_qp_rd_atom = 16,
		.max_res_rd_atom = 1024,
		.max_qp_init_rd_atom = 16,
		.max_fast_reg_page_list_len = 64,
		/* As siw has none. */
		.atomic_cap = hca->proto == FAKE_PROTO_IB ? IB_ATOMIC_HCA :
							    IB_ATOMIC_NONE,
		.max_srq = 64,
		.max_srq_wr = 1024,
		.max_srq_sge = 16,
		.max_pkeys = 1,
	};
	return 0;
}

static int fake_query_port(struct ib_device *ibdev, u32 port,
			   struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = 1U << 30;
	attr->lid = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_HDR;
	return 0;
}

/*
 * IB_CM without MADs: kdapl takes the port for one with an IB CM, while ib_cm
 * itself does not find a MAD agent there and stays away.
 */
static int fake_get_port_immutable(struct ib_device *ibdev, u32 port,
				   struct ib_port_immutable *immutable)
{
	struct fake_hca *hca = container_of(ibdev, struct fake_hca, ibdev);

	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	immutable->core_cap_flags = hca->proto == FAKE_PROTO_IWARP ?
		RDMA_CORE_CAP_PROT_IWARP :
		RDMA_CORE_CAP_PROT_IB | RDMA_CORE_CAP_IB_CM;
	return 0;
}

static int fake_query_gid(struct ib_device *ibdev, u32 port, int index,
			  union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	gid->global.subnet_prefix = cpu_to_be64(0xfe80000000000000ULL);
	gid->global.interface_id = cpu_to_be64(port);
	return 0;
}

static int fake_query_pkey(struct ib_device *ibdev, u32 port, u16 index,
			   u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static int fake_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	int ret;

	ret = fake_verb_begin(FAKE_ALLOC_PD, ibpd, 0);
	if (ret)
		return ret;
	atomic_inc(&fake_live[FAKE_PD]);
	fake_verb_done(FAKE_ALLOC_PD, ibpd, 0, 0);
	return 0;
}

static int fake_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	atomic_dec(&fake_live[FAKE_PD]);
	fake_verb_done(FAKE_DEALLOC_PD, ibpd, 0, 0);
	return 0;
}

static const struct ib_device_ops fake_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = 1,

	.alloc_mr = fake_alloc_mr,
	.alloc_pd = fake_alloc_pd,
	.create_cq = fake_create_cq,
	.create_qp = fake_create_qp,
	.create_srq = fake_create_srq,
	.dealloc_pd = fake_dealloc_pd,
	.dereg_mr = fake_dereg_mr,
	.destroy_cq = fake_destroy_cq,
	.destroy_qp = fake_destroy_qp,
	.destroy_srq = fake_destroy_srq,
	.get_dma_mr = fake_get_dma_mr,
	.get_port_immutable = fake_get_port_immutable,
	.map_mr_sg = fake_map_mr_sg,
	.modify_qp = fake_modify_qp,
	.modify_srq = fake_modify_srq,
	.poll_cq = fake_poll_cq,
	.post_recv = fake_post_recv,
	.post_send = fake_post_send,
	.post_srq_recv = fake_post_srq_recv,
	.query_device = fake_query_device,
	.query_gid = fake_query_gid,
	.query_pkey = fake_query_pkey,
	.query_port = fake_query_port,
	.reg_user_mr = fake_reg_user_mr,
	.req_notify_cq = fake_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, fake_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, fake_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, fake_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, fake_srq, ibsrq),
};

/* Puts the device on the bus; the last one must have been unplugged. */
int fake_hca_plug(enum fake_proto proto)
{
	struct fake_hca *hca;
	int ret = 0;
	u32 port;

	hca = ib_alloc_device(fake_hca, ibdev);
	if (!hca)
		return -ENOMEM;
	hca->proto = proto;
	hca->ibdev.phys_port_cnt = FAKE_PORTS;
	hca->ibdev.num_comp_vectors = 4;
	hca->ibdev.node_type = proto == FAKE_PROTO_IWARP ? RDMA_NODE_RNIC :
							   RDMA_NODE_IB_CA;
	hca->ibdev.local_dma_lkey = 0xfade;
	strscpy(hca->ibdev.node_desc, "kdapl fake device",
		sizeof(hca->ibdev.node_desc));
	ib_set_device_ops(&hca->ibdev, &fake_ops);
	fake_hca = hca;
	/* ib_core looks there for the state of an iWARP port. */
	if (proto == FAKE_PROTO_IWARP)
		for (port = 1; port <= FAKE_PORTS && !ret; port++)
			ret = ib_device_set_netdev(&hca->ibdev, fake_netdev,
						   port);
	if (!ret)
		ret = ib_register_device(&hca->ibdev, FAKE_NAME, NULL);
	if (ret) {
		fake_hca = NULL;
		ib_dealloc_device(&hca->ibdev);
	}
	return ret;
}
EXPORT_SYMBOL_GPL(fake_hca_plug);

void fake_hca_unplug(void)
{
	struct fake_hca *hca = fake_hca;

	if (!hca)
		return;
	ib_unregister_device(&hca->ibdev);
	fake_hca = NULL;
	ib_dealloc_device(&hca->ibdev);
}
EXPORT_SYMBOL_GPL(fake_hca_unplug);

struct ib_device *fake_hca_ibdev(void)
{
	return fake_hca ? &fake_hca->ibdev : NULL;
}
EXPORT_SYMBOL_GPL(fake_hca_ibdev);

/* An event of the device or of its port. */
void fake_hca_event(enum ib_event_type type)
{
	struct ib_event event = {
		.device = fake_hca_ibdev(),
		.element.port_num = 1,
		.event = type,
	};

	ib_dispatch_event(&event);
}
EXPORT_SYMBOL_GPL(fake_hca_event);

void fake_hca_reset(void)
{
	fake_script = fake_defaults;
	fake_log_reset();
	fake_qp_reset_counters();
	fake_cm_reset();
}
EXPORT_SYMBOL_GPL(fake_hca_reset);

int fake_hca_live(enum fake_object object)
{
	return atomic_read(&fake_live[object]);
}
EXPORT_SYMBOL_GPL(fake_hca_live);

int fake_hca_live_total(void)
{
	int i, sum = 0;

	for (i = 0; i < FAKE_OBJECTS; i++)
		sum += fake_hca_live(i);
	return sum;
}
EXPORT_SYMBOL_GPL(fake_hca_live_total);

static int __init fake_hca_init(void)
{
	int ret;

	fake_script = fake_defaults;
	fake_wq = alloc_workqueue("fake_hca", 0, 0);
	if (!fake_wq)
		return -ENOMEM;
	ret = fake_net_init();
	if (ret)
		goto out_wq;
	ret = fake_cm_init();
	if (ret)
		goto out_net;
	ret = fake_hca_plug(FAKE_PROTO_IB);
	if (ret)
		goto out_cm;
	return 0;

out_cm:
	fake_cm_exit();
out_net:
	fake_net_exit();
out_wq:
	destroy_workqueue(fake_wq);
	return ret;
}

static void __exit fake_hca_exit(void)
{
	fake_hca_unplug();
	fake_cm_exit();
	fake_net_exit();
	destroy_workqueue(fake_wq);
}

module_init(fake_hca_init);
module_exit(fake_hca_exit);

MODULE_DESCRIPTION("Scripted RDMA device and connection manager for the suites");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
