// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: what all objects share: numbers, references, the IA's lists,
 * the consumer's tag
 */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/printk.h>

#include <dat/kdat.h>

#include "ia.h"
#include "kunit.h"
#include "obj.h"

static atomic_t obj_last_id;

/**
 * kdapl_obj_kind - name of an object type, for logs and debugfs
 * @type: any value
 *
 * Return: a constant string.
 */
const char *kdapl_obj_kind(enum dat_handle_type type)
{
	static const char * const kinds[] = {
		[DAT_HANDLE_TYPE_CR] = "cr",
		[DAT_HANDLE_TYPE_EP] = "ep",
		[DAT_HANDLE_TYPE_EVD] = "evd",
		[DAT_HANDLE_TYPE_IA] = "ia",
		[DAT_HANDLE_TYPE_LMR] = "lmr",
		[DAT_HANDLE_TYPE_PSP] = "psp",
		[DAT_HANDLE_TYPE_PZ] = "pz",
		[DAT_HANDLE_TYPE_RMR] = "rmr",
		[DAT_HANDLE_TYPE_RSP] = "rsp",
		[DAT_HANDLE_TYPE_SRQ] = "srq",
		[DAT_HANDLE_TYPE_CSP] = "csp",
		[KDAPL_HANDLE_POOL] = "pool",
	};

	if ((unsigned int)type >= ARRAY_SIZE(kinds) || !kinds[type])
		return "object";
	return kinds[type];
}

/**
 * kdapl_obj_init - give a zeroed object its head
 * @obj: the object
 * @ia: its IA, of which it keeps the memory alive; @obj itself for an IA
 * @type: what it is
 * @release: called once, in the context of the last kdapl_obj_put()
 *
 * From here on the object ends with kdapl_obj_put(), also on error paths.
 */
void kdapl_obj_init(struct kdapl_obj *obj, struct dat_ia *ia,
		    enum dat_handle_type type,
		    void (*release)(struct kdapl_obj *obj))
{
	obj->type = type;
	obj->id = atomic_inc_return(&obj_last_id);
	kref_init(&obj->ref);
	INIT_LIST_HEAD(&obj->node);
	obj->release = release;
	obj->ia = ia;
	if (&ia->obj != obj)
		kdapl_obj_get(&ia->obj);
	pr_debug("%s %u created\n", kdapl_obj_kind(type), obj->id);
}

/**
 * kdapl_obj_link - show an object on its IA's list
 * @obj: the object, complete: cascade, debugfs and removal can find it now
 */
void kdapl_obj_link(struct kdapl_obj *obj)
{
	struct dat_ia *ia = obj->ia;
	unsigned long flags;

	spin_lock_irqsave(&ia->lock, flags);
	list_add_tail(&obj->node, &ia->objs[obj->type]);
	atomic_inc(&ia->counts[obj->type]);
	ia->made[obj->type]++;
	spin_unlock_irqrestore(&ia->lock, flags);
}

/**
 * kdapl_obj_unlink - take an object off its IA's list
 * @obj: linked or not
 */
void kdapl_obj_unlink(struct kdapl_obj *obj)
{
	struct dat_ia *ia = obj->ia;
	unsigned long flags;

	spin_lock_irqsave(&ia->lock, flags);
	if (!list_empty(&obj->node)) {
		list_del_init(&obj->node);
		atomic_dec(&ia->counts[obj->type]);
	}
	spin_unlock_irqrestore(&ia->lock, flags);
}

void kdapl_obj_get(struct kdapl_obj *obj)
{
	kref_get(&obj->ref);
}

static void obj_release(struct kref *ref)
{
	struct kdapl_obj *obj = container_of(ref, struct kdapl_obj, ref);
	struct dat_ia *ia = obj->ia;
	bool is_ia = &ia->obj == obj;

	pr_debug("%s %u destroyed\n", kdapl_obj_kind(obj->type), obj->id);
	obj->release(obj);
	if (!is_ia)
		kdapl_obj_put(&ia->obj);
}

/**
 * kdapl_obj_put - drop a reference
 * @obj: the object, not to be touched afterwards
 */
void kdapl_obj_put(struct kdapl_obj *obj)
{
	kref_put(&obj->ref, obj_release);
}

KDAPL_EXPORT_FOR_TEST(kdapl_obj_put);

/* Any handle starts with its head; its type tells whether it is one. */
static int obj_of_handle(void *handle, struct kdapl_obj **obj)
{
	struct kdapl_obj *head = handle;

	if (!head || (unsigned int)head->type >= KDAPL_HANDLE_TYPES)
		return -EINVAL;
	*obj = head;
	return 0;
}

/**
 * dat_set_consumer_context - put a tag on an object
 * @handle: any object
 * @context: the tag, which kdapl stores and never looks into
 *
 * Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL.
 */
int dat_set_consumer_context(void *handle, union dat_context context)
{
	struct kdapl_obj *obj;
	unsigned long flags;
	int ret;

	ret = obj_of_handle(handle, &obj);
	if (ret)
		return ret;
	spin_lock_irqsave(&obj->ia->lock, flags);
	obj->context = context;
	spin_unlock_irqrestore(&obj->ia->lock, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_set_consumer_context);

/**
 * dat_get_consumer_context - the tag of an object
 * @handle: any object
 * @context: OUT: the tag, all zero if none was set
 *
 * Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL.
 */
int dat_get_consumer_context(void *handle, union dat_context *context)
{
	struct kdapl_obj *obj;
	unsigned long flags;
	int ret;

	if (!context)
		return -EINVAL;
	ret = obj_of_handle(handle, &obj);
	if (ret)
		return ret;
	spin_lock_irqsave(&obj->ia->lock, flags);
	*context = obj->context;
	spin_unlock_irqrestore(&obj->ia->lock, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_get_consumer_context);

/**
 * dat_get_handle_type - what an object is
 * @handle: any object
 * @type: OUT: its type
 *
 * Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL.
 */
int dat_get_handle_type(void *handle, enum dat_handle_type *type)
{
	struct kdapl_obj *obj;
	int ret;

	if (!type)
		return -EINVAL;
	ret = obj_of_handle(handle, &obj);
	if (ret)
		return ret;
	*type = obj->type;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_get_handle_type);
