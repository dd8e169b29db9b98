// Keeps the reader's choices by name. They outlive the page's elements, which are made again when a
// trial ends. They are gone when the page is closed.

/** One choice. */
export interface Choice<T> {
  value: T;
}

export class Kept {
  private readonly choices = new Map<string, Choice<unknown>>();

  /** The choice that is stored under a name, or `first` if nothing was chosen yet. A name always has
   * the same type. */
  choice<T>(name: string, first: T): Choice<T> {
    const known = this.choices.get(name) as Choice<T> | undefined;
    if (known) return known;
    const made = { value: first };
    this.choices.set(name, made);
    return made;
  }

  /** The same for a list that may have changed: a value that is no longer in it becomes the first
   * one. */
  oneOf(name: string, values: string[]): Choice<string> {
    const made = this.choice(name, values[0] ?? "");
    if (!values.includes(made.value)) made.value = values[0] ?? "";
    return made;
  }
}
