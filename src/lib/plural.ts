/** The form that agrees with `count`: `one` if it is 1, else `many`. */
export function agreeing(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

/** A number with its noun: `1 worker`, `2 workers`. `many` is the plural of a noun that does not take an s. */
export function counted(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${agreeing(count, noun, many)}`;
}
