const FACTORS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** Returns the number of a Kubernetes quantity such as `24G` or `1.5Gi`; undefined if the text is no quantity. */
export function parseQuantity(text: string): number | undefined {
  const match = /^([0-9]+(?:\.[0-9]+)?)(k|[MGTP]|[KMGTP]i)?$/.exec(text);
  if (!match) return undefined;
  return Number(match[1]) * (FACTORS[match[2] ?? ''] ?? 1);
}

/** Returns a quantity in whole decimal gigabytes, rounded up because the marketplace sells disk in them. */
export function wholeGigabytes(text: string): number | undefined {
  const bytes = parseQuantity(text);
  return bytes === undefined ? undefined : Math.ceil(bytes / 1e9);
}
