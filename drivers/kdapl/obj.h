/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all handles have in common. struct kdapl_obj is the first member of
 * every object, which is what makes dat_get_handle_type() possible.
 */
#ifndef _KDAPL_OBJ_H
#define _KDAPL_OBJ_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include <dat/dat.h>

/**
 * struct kdapl_obj - head of every object
 * @type: what the object is
 * @id: number for logs, traces and debugfs; never used again
 * @ref: the consumer's handle is one reference, dropped by the free call
 * @ia: the IA it belongs to (itself for an IA); immutable
 * @node: on ia->objs[type]; guarded by ia->lock
 * @context: the consumer's own; guarded by ia->lock
 * @release: frees the memory when @ref drops to zero; may be called in any
 *	context, so it defers what sleeps
 */
struct kdapl_obj {
	enum dat_handle_type type;
	u32 id;
	struct kref ref;
	struct dat_ia *ia;
	struct list_head node;
	union dat_context context;
	void (*release)(struct kdapl_obj *obj);
};

void kdapl_obj_init(struct kdapl_obj *obj, struct dat_ia *ia,
		    enum dat_handle_type type,
		    void (*release)(struct kdapl_obj *obj));
void kdapl_obj_link(struct kdapl_obj *obj);
void kdapl_obj_unlink(struct kdapl_obj *obj);
void kdapl_obj_get(struct kdapl_obj *obj);
void kdapl_obj_put(struct kdapl_obj *obj);
const char *kdapl_obj_kind(enum dat_handle_type type);

#endif /* _KDAPL_OBJ_H */
