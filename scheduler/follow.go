// SPDX-License-Identifier: MIT

package scheduler

import "github.com/penstock/penstock/scheduler/kvcache"

// next is the queued job to admit now: the first that can go on, does not follow a running one and can have the slot that it waits for.
// A job that follows loses nothing by waiting, nor when others go before it.
func (s *Scheduler) next() *job {
	for _, j := range s.queue.jobs {
		if j.ready() && s.canHaveSlot(j) && !s.follows(j) {
			return j
		}
	}
	return nil
}

// follows reports whether a running job is computing a prefix that a queued one has in common with it: the queued one waits and then
// shares those cells. If the leader ends or stalls, the follower computes the prefix itself.
func (s *Scheduler) follows(j *job) bool {
	if !j.reuses() || j.scoring() || !s.cache.Shares() {
		return false
	}
	if j.leader != nil && j.leader.leads(j.sharedLen) {
		return true
	}
	j.leader = nil
	tokens := j.answer.Expected()
	found := s.cache.LongestPrefix(tokens, j.scope)
	for _, r := range s.running {
		if r.worker.Busy() || r.scope.Salt != j.scope.Salt || r.req.Priority < j.req.Priority { // the worker of a busy one writes its tokens now
			continue
		}
		common := r.scope.Common(j.scope, kvcache.CommonPrefix(r.answer.Context(), tokens[:len(tokens)-1]))
		near := common > found && r.seq.Len() >= found // r already has all that was found and gains more with each chunk
		if common >= kvcache.MinShared && (near || common-found >= kvcache.MinShared) && r.leads(common) {
			j.leader, j.sharedLen = r, common
			s.cache.Want(r.seq, common)
			return true
		}
	}
	return false
}

// leads reports whether a running job is about to have n tokens in the cache.
func (j *job) leads(n int) bool {
	return j.seq != nil && j.ready() && j.seq.Len() < n && len(j.answer.Context()) >= n
}
