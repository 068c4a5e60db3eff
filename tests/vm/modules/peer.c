// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "peer.h"
#include "side.h"

void peer_init(struct peer *peer)
{
	raw_init(&peer->raw);
	memset(peer->buf, 0x5a, sizeof(peer->buf));
}

/*
 * Only devices without DMA are driven here, so nothing has to be kept mapped:
 * the address of such a device is the kernel's.
 */
static int peer_sge(struct peer *peer, struct ib_sge *sge)
{
	struct ib_device *dev = peer->raw.id->device;

	sge->addr = ib_dma_map_single(dev, peer->buf, PEER_BYTES,
				      DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(dev, sge->addr))
		return -ENOMEM;
	sge->length = PEER_BYTES;
	sge->lkey = peer->raw.pd->local_dma_lkey;
	ib_dma_unmap_single(dev, sge->addr, PEER_BYTES, DMA_BIDIRECTIONAL);
	return 0;
}

int peer_send(struct peer *peer)
{
	struct ib_sge sge;
	struct ib_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int ret;

	ret = peer_sge(peer, &sge);
	return ret ? ret : ib_post_send(peer->raw.qp, &wr, NULL);
}

int peer_recv(struct peer *peer)
{
	struct ib_sge sge;
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	int ret;

	ret = peer_sge(peer, &sge);
	return ret ? ret : ib_post_recv(peer->raw.qp, &wr, NULL);
}

static int poll_until(struct ib_cq *cq, int want, struct peer_tally *tally)
{
	unsigned long end = jiffies + msecs_to_jiffies(SIDE_TIMEOUT_MS);
	struct ib_wc wc;
	bool last;

	for (;;) {
		last = time_after(jiffies, end);
		while (ib_poll_cq(cq, 1, &wc) > 0) {
			if (wc.status == IB_WC_SUCCESS)
				tally->success++;
			else if (!tally->failed++)
				tally->first_error = wc.status;
		}
		if (tally->success + tally->failed >= want)
			return 0;
		if (last)
			return -ETIMEDOUT;
		usleep_range(200, 500);
	}
}

int peer_sends_end(struct peer *peer, int want, struct peer_tally *tally)
{
	return poll_until(peer->raw.send_cq, want, tally);
}

int peer_recvs_end(struct peer *peer, int want, struct peer_tally *tally)
{
	return poll_until(peer->raw.recv_cq, want, tally);
}

void peer_close(struct peer *peer)
{
	raw_close(&peer->raw);
}
