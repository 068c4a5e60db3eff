/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kDAPL 2.0 calls. A consumer includes this header and links against the
 * symbols that kdapl.ko exports; each call's contract (context, errnos, what
 * becomes of OUT parameters) stands as kernel-doc beside its definition.
 *
 * All calls return 0 or a negative errno unless they say otherwise. A NULL
 * handle is -EINVAL; a call that fails has changed nothing and has left its OUT
 * parameters alone.
 */
#ifndef _DAT_KDAT_H
#define _DAT_KDAT_H

#include <dat/dat.h>
#include <dat/dat_attr.h>
#include <dat/dat_event.h>

struct net;

/* Registry and interface adapters */
int dat_registry_list_providers(int max_to_return, int *number_entries,
				struct dat_provider_info *list[]);
int dat_registry_providers_related(const char *name1, const char *name2,
				   enum dat_ha_relationship *relationship);
int dat_ia_ha_related(const char *ia_name, const char *other_name,
		      bool *related);
int dat_ia_open(const char *ia_name, int async_evd_min_qlen,
		struct dat_evd **async_evd, struct dat_ia **ia);
int dat_ia_open_net(struct net *net, const char *ia_name,
		    int async_evd_min_qlen, struct dat_evd **async_evd,
		    struct dat_ia **ia);
int dat_ia_query(struct dat_ia *ia, struct dat_evd **async_evd,
		 u64 ia_attr_mask, struct dat_ia_attr *ia_attr,
		 u64 provider_attr_mask,
		 struct dat_provider_attr *provider_attr);
int dat_ia_close(struct dat_ia *ia, enum dat_close_flags flags);

/* Any handle */
int dat_set_consumer_context(void *handle, union dat_context context);
int dat_get_consumer_context(void *handle, union dat_context *context);
int dat_get_handle_type(void *handle, enum dat_handle_type *type);
int dat_strerror(int error, const char **major, const char **minor);

/* Event dispatchers */
int dat_evd_kcreate(struct dat_ia *ia, int evd_min_qlen,
		    enum dat_upcall_policy policy,
		    const struct dat_upcall_object *upcall,
		    enum dat_evd_flags flags, struct dat_evd **evd);
int dat_evd_query(struct dat_evd *evd, enum dat_evd_param_mask mask,
		  struct dat_evd_param *param);
int dat_evd_set_attr(struct dat_evd *evd, enum dat_evd_attr_mask mask,
		     const struct dat_evd_attr *attr);
int dat_evd_modify_upcall(struct dat_evd *evd, enum dat_upcall_policy policy,
			  const struct dat_upcall_object *upcall,
			  enum dat_upcall_flag flag);
int dat_evd_resize(struct dat_evd *evd, int evd_min_qlen);
int dat_evd_post_se(struct dat_evd *evd, const struct dat_event *event);
int dat_evd_dequeue(struct dat_evd *evd, struct dat_event *event);
int dat_evd_dequeue_batch(struct dat_evd *evd, struct dat_event *events,
			  int max_events);
int dat_evd_free(struct dat_evd *evd);

/* Endpoints */
int dat_ep_create(struct dat_ia *ia, struct dat_pz *pz,
		  struct dat_evd *recv_evd, struct dat_evd *request_evd,
		  struct dat_evd *connect_evd, const struct dat_ep_attr *attr,
		  struct dat_ep **ep);
int dat_ep_create_with_srq(struct dat_ia *ia, struct dat_pz *pz,
			   struct dat_evd *recv_evd,
			   struct dat_evd *request_evd,
			   struct dat_evd *connect_evd, struct dat_srq *srq,
			   const struct dat_ep_attr *attr, struct dat_ep **ep);
int dat_ep_query(struct dat_ep *ep, u64 mask, struct dat_ep_param *param);
int dat_ep_modify(struct dat_ep *ep, u64 mask,
		  const struct dat_ep_param *param);
int dat_ep_get_status(struct dat_ep *ep, enum dat_ep_state *state,
		      bool *recv_idle, bool *request_idle);
int dat_ep_recv_query(struct dat_ep *ep, int *nbufs_allocated,
		      int *bufs_alloc_span);
int dat_ep_set_watermark(struct dat_ep *ep, int soft_high_watermark,
			 int hard_high_watermark);
int dat_ep_connect(struct dat_ep *ep, const struct sockaddr *remote_ia_address,
		   u64 remote_conn_qual, u32 timeout, int private_data_size,
		   const void *private_data, enum dat_qos qos,
		   enum dat_connect_flags flags);
int dat_ep_dup_connect(struct dat_ep *ep, struct dat_ep *dup_ep, u32 timeout,
		       int private_data_size, const void *private_data,
		       enum dat_qos qos);
int dat_ep_common_connect(struct dat_ep *ep,
			  const struct sockaddr *remote_address, u32 timeout,
			  int private_data_size, const void *private_data);
int dat_ep_disconnect(struct dat_ep *ep, enum dat_close_flags flags);
int dat_ep_reset(struct dat_ep *ep);
int dat_ep_free(struct dat_ep *ep);

/* Data transfer */
int dat_ep_post_send(struct dat_ep *ep, int num_segments,
		     const struct dat_lmr_triplet *local_iov,
		     union dat_context cookie,
		     enum dat_completion_flags flags);
int dat_ep_post_send_with_invalidate(struct dat_ep *ep, int num_segments,
				     const struct dat_lmr_triplet *local_iov,
				     union dat_context cookie,
				     enum dat_completion_flags flags,
				     bool invalidate_flag, u32 rmr_context);
int dat_ep_post_recv(struct dat_ep *ep, int num_segments,
		     const struct dat_lmr_triplet *local_iov,
		     union dat_context cookie,
		     enum dat_completion_flags flags);
int dat_ep_post_rdma_read(struct dat_ep *ep, int num_segments,
			  const struct dat_lmr_triplet *local_iov,
			  union dat_context cookie,
			  const struct dat_rmr_triplet *remote,
			  enum dat_completion_flags flags);
int dat_ep_post_rdma_read_to_rmr(struct dat_ep *ep,
				 const struct dat_rmr_triplet *local,
				 union dat_context cookie,
				 const struct dat_rmr_triplet *remote,
				 enum dat_completion_flags flags);
int dat_ep_post_rdma_write(struct dat_ep *ep, int num_segments,
			   const struct dat_lmr_triplet *local_iov,
			   union dat_context cookie,
			   const struct dat_rmr_triplet *remote,
			   enum dat_completion_flags flags);

/* Shared receive queues */
int dat_srq_create(struct dat_ia *ia, struct dat_pz *pz,
		   const struct dat_srq_attr *attr, struct dat_srq **srq);
int dat_srq_query(struct dat_srq *srq, enum dat_srq_param_mask mask,
		  struct dat_srq_param *param);
int dat_srq_resize(struct dat_srq *srq, int srq_max_recv_dto);
int dat_srq_set_lw(struct dat_srq *srq, int low_watermark);
int dat_srq_post_recv(struct dat_srq *srq, int num_segments,
		      const struct dat_lmr_triplet *local_iov,
		      union dat_context cookie);
int dat_srq_free(struct dat_srq *srq);

/* Service points and connection requests */
int dat_psp_create(struct dat_ia *ia, u64 conn_qual, struct dat_evd *evd,
		   enum dat_psp_flags flags, struct dat_psp **psp);
int dat_psp_create_any(struct dat_ia *ia, u64 *conn_qual, struct dat_evd *evd,
		       enum dat_psp_flags flags, struct dat_psp **psp);
int dat_psp_query(struct dat_psp *psp, enum dat_psp_param_mask mask,
		  struct dat_psp_param *param);
int dat_psp_free(struct dat_psp *psp);
int dat_rsp_create(struct dat_ia *ia, u64 conn_qual, struct dat_ep *ep,
		   struct dat_evd *evd, struct dat_rsp **rsp);
int dat_rsp_query(struct dat_rsp *rsp, enum dat_rsp_param_mask mask,
		  struct dat_rsp_param *param);
int dat_rsp_free(struct dat_rsp *rsp);
int dat_csp_create(struct dat_ia *ia, const struct dat_comm *comm,
		   const struct sockaddr *address, struct dat_evd *evd,
		   struct dat_csp **csp);
int dat_csp_query(struct dat_csp *csp, enum dat_csp_param_mask mask,
		  struct dat_csp_param *param);
int dat_csp_free(struct dat_csp *csp);
int dat_cr_query(struct dat_cr *cr, enum dat_cr_param_mask mask,
		 struct dat_cr_param *param);
int dat_cr_accept(struct dat_cr *cr, struct dat_ep *ep, int private_data_size,
		  const void *private_data);
int dat_cr_reject(struct dat_cr *cr, int private_data_size,
		  const void *private_data);
int dat_cr_handoff(struct dat_cr *cr, u64 handoff_qual);

/* Memory */
int dat_pz_create(struct dat_ia *ia, struct dat_pz **pz);
int dat_pz_query(struct dat_pz *pz, enum dat_pz_param_mask mask,
		 struct dat_pz_param *param);
int dat_pz_free(struct dat_pz *pz);
int dat_lmr_kcreate(struct dat_ia *ia, enum dat_mem_type mem_type,
		    union dat_region_description region, u64 length,
		    struct dat_pz *pz, enum dat_mem_priv_flags privileges,
		    enum dat_va_type va_type,
		    enum dat_mem_optimize_flags mem_optimization,
		    struct dat_lmr **lmr, u32 *lmr_context, u32 *rmr_context,
		    u64 *registered_length, u64 *registered_address);
int dat_lmr_query(struct dat_lmr *lmr, enum dat_lmr_param_mask mask,
		  struct dat_lmr_param *param);
int dat_lmr_free(struct dat_lmr *lmr);
int dat_lmr_sync_rdma_read(struct dat_ia *ia,
			   const struct dat_lmr_triplet *segments,
			   int num_segments);
int dat_lmr_sync_rdma_write(struct dat_ia *ia,
			    const struct dat_lmr_triplet *segments,
			    int num_segments);
int dat_rmr_create(struct dat_pz *pz, struct dat_rmr **rmr);
int dat_rmr_create_for_ep(struct dat_pz *pz, struct dat_rmr **rmr);
int dat_rmr_query(struct dat_rmr *rmr, enum dat_rmr_param_mask mask,
		  struct dat_rmr_param *param);
int dat_rmr_bind(struct dat_rmr *rmr, struct dat_lmr *lmr,
		 const struct dat_lmr_triplet *lmr_triplet,
		 enum dat_mem_priv_flags privileges, enum dat_va_type va_type,
		 struct dat_ep *ep, union dat_context cookie,
		 enum dat_completion_flags flags, u32 *rmr_context);
int dat_rmr_free(struct dat_rmr *rmr);
int dat_ia_memtype_hint(struct dat_ia *ia, enum dat_mem_type mem_type,
			u64 length,
			enum dat_mem_optimize_flags mem_optimization,
			u64 *preferred_length, u64 *preferred_alignment);
int dat_ia_reserved_lmr(struct dat_ia *ia, struct dat_lmr **lmr,
			u32 *lmr_context);
int dat_lmr_allocate(struct dat_ia *ia, struct dat_pz *pz, int max_pages,
		     enum dat_lmr_scope scope, struct dat_lmr **lmr);
int dat_lmr_fmr(struct dat_lmr *lmr, enum dat_mem_type mem_type,
		union dat_region_description region, int num_pages,
		enum dat_mem_priv_flags privileges, enum dat_va_type va_type,
		struct dat_ep *ep, union dat_context cookie,
		enum dat_completion_flags flags, u32 *lmr_context,
		u32 *rmr_context);
int dat_lmr_invalidate(struct dat_lmr *lmr, struct dat_ep *ep,
		       union dat_context cookie,
		       enum dat_completion_flags flags);

#endif /* _DAT_KDAT_H */
