// SPDX-License-Identifier: MIT

/** A value that is announced to whoever listens; the one way the parts of the page tell each other news. */
export class Signal<T> {
  private readonly listeners = new Set<(value: T) => void>();

  /** Calls listener for each value from now on; returns what ends that. */
  listen(listener: (value: T) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  emit(value: T): void {
    for (const listener of this.listeners) listener(value);
  }
}
