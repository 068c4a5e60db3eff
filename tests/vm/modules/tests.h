/* SPDX-License-Identifier: GPL-2.0 */
/* The tests. Each reports through @t and returns when it has cleaned up. */
#ifndef _VMTEST_TESTS_H
#define _VMTEST_TESTS_H

struct vmtest;

void vmtest_asleep_open(struct vmtest *t);
void vmtest_asleep_end(struct vmtest *t);
void vmtest_attr(struct vmtest *t);
void vmtest_backlog(struct vmtest *t);
void vmtest_close_order(struct vmtest *t);
void vmtest_close_both(struct vmtest *t);
void vmtest_close_passive(struct vmtest *t);
void vmtest_close_dead(struct vmtest *t);
void vmtest_close_free(struct vmtest *t);
void vmtest_deadlock(struct vmtest *t);
void vmtest_deaf(struct vmtest *t);
void vmtest_flood(struct vmtest *t);
void vmtest_grace(struct vmtest *t);
void vmtest_grace_over(struct vmtest *t);
void vmtest_imm(struct vmtest *t);
void vmtest_last_send(struct vmtest *t);
void vmtest_last_send_owned(struct vmtest *t);
void vmtest_mass_open(struct vmtest *t);
void vmtest_mass_end(struct vmtest *t);
void vmtest_mass_close(struct vmtest *t);
void vmtest_mem_atomic(struct vmtest *t);
void vmtest_mem_kinds(struct vmtest *t);
void vmtest_mem_limit(struct vmtest *t);
void vmtest_mem_pool(struct vmtest *t);
void vmtest_mem_refused(struct vmtest *t);
void vmtest_mem_rounds(struct vmtest *t);
void vmtest_mem_reconnect(struct vmtest *t);
void vmtest_mem_sink(struct vmtest *t);
void vmtest_pdata(struct vmtest *t);
void vmtest_race(struct vmtest *t);
void vmtest_reject(struct vmtest *t);
void vmtest_sp(struct vmtest *t);
void vmtest_srq(struct vmtest *t);
void vmtest_stress(struct vmtest *t);

/* What a script has left behind. */
void vmtest_asleep_exit(void);
void vmtest_mass_exit(void);

#endif /* _VMTEST_TESTS_H */
