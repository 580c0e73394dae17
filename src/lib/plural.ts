/** Returns the form that agrees with `count`: `one` if it is 1, else `many`. */
export function agreeing(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

/** Returns a number with its noun: `1 worker`, `2 workers`. `many` is the plural of a noun without a plural in -s. */
export function counted(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${agreeing(count, noun, many)}`;
}
