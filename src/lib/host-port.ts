/** Returns a host as URLs and ssh write it: an IPv6 address in brackets. */
export function bracketedHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** `host:port`, with brackets around an IPv6 address. */
export function hostAndPort(host: string, port: number): string {
  return `${bracketedHost(host)}:${port}`;
}

/** Returns the inverse of {@link hostAndPort}; undefined for any other text. */
export function readHostAndPort(text: unknown): { readonly host: string; readonly port: number } | undefined {
  const match = typeof text === 'string' ? /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) : null;
  const host = match?.[1] ?? match?.[2];
  return host === undefined ? undefined : { host, port: Number(match?.[3]) };
}
