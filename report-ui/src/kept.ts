// What the reader has chosen, by name: it outlives the elements of the page, which are made anew
// when a trial ends. Nothing is kept after the page is closed.

/** One thing that was chosen. */
export interface Choice<T> {
  value: T;
}

export class Kept {
  private readonly choices = new Map<string, Choice<unknown>>();

  /** What was chosen under a name, or what stands there before anything is. A name is always of
   * one type. */
  choice<T>(name: string, first: T): Choice<T> {
    const known = this.choices.get(name) as Choice<T> | undefined;
    if (known) return known;
    const made = { value: first };
    this.choices.set(name, made);
    return made;
  }

  /** The same of a list that may have changed: what is no longer in it gives way to its first. */
  oneOf(name: string, values: string[]): Choice<string> {
    const made = this.choice(name, values[0] ?? "");
    if (!values.includes(made.value)) made.value = values[0] ?? "";
    return made;
  }
}
