// SPDX-License-Identifier: MIT

package background

import (
	"runtime"

	"github.com/penstock/penstock/scheduler/panics"
)

// order is what the tick asks of the goroutine.
type order uint8

const (
	orderBegin order = iota
	orderPrepare
	orderDraw
	orderTask
	orderClose
)

// Run is the goroutine. It returns after Close.
func (w *Sampler) Run() {
	for o := range w.orders {
		runtime.LockOSThread() // whose time is taken
		start := ThreadTime()
		if err := panics.Try(func() error { w.carryOut(o); return nil }); err != nil {
			w.panicked(o, err)
		}
		w.worked.Add(int64(ThreadTime() - start))
		runtime.UnlockOSThread() // else the thread would die with the goroutine
		switch o {
		case orderDraw, orderTask:
			w.done <- struct{}{}
			w.options.Wake()
		case orderBegin:
			if w.beginErr != nil {
				w.options.Failed(w.beginErr)
			}
		case orderClose:
			return
		}
	}
}

func (w *Sampler) carryOut(o order) {
	switch o {
	case orderBegin:
		if !w.chain.Begun() { // else it began before it had a background sampler
			w.beginErr = w.answer.Begin()
		}
	case orderPrepare:
		w.prepareStages()
	case orderDraw:
		w.drawTokens()
		w.row.Return()
	case orderTask:
		w.doTask()
	case orderClose:
		if w.options.Close != nil {
			w.options.Close()
			return
		}
		w.answer.Close()
	}
}

func (w *Sampler) doTask() {
	if w.taskErr = w.beginErr; w.taskErr == nil {
		w.taskErr = w.task()
		return
	}
	w.answer.Fail(w.beginErr)
	if w.instead != nil {
		w.instead()
	}
}

// panicked makes a panic the error of the order that was carried out.
func (w *Sampler) panicked(o order, err error) {
	switch o {
	case orderBegin:
		w.beginErr = err
	case orderPrepare:
		w.prepareErr = err
	case orderDraw:
		w.answer.Fail(err)
		w.row.Return()
	case orderTask:
		w.taskErr = err
		w.answer.Fail(err)
	case orderClose:
	}
}
