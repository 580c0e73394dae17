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

/** The number that a Kubernetes quantity such as `24G` or `1.5Gi` stands for; undefined where it is none. */
export function parseQuantity(text: string): number | undefined {
  const match = /^([0-9]+(?:\.[0-9]+)?)(k|[MGTP]|[KMGTP]i)?$/.exec(text);
  if (!match) return undefined;
  return Number(match[1]) * (FACTORS[match[2] ?? ''] ?? 1);
}

/** Whole decimal gigabytes that hold a quantity, rounded up as the marketplace sells disk. */
export function wholeGigabytes(text: string): number | undefined {
  const bytes = parseQuantity(text);
  return bytes === undefined ? undefined : Math.ceil(bytes / 1e9);
}
