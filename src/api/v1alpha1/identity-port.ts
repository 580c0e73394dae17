/** The highest port number of TCP and UDP. */
export const MAX_PORT = 65_535;
/** First number of an identity port: the marketplace chooses one number for inside and outside. */
export const MIN_IDENTITY_PORT = 70_000;
export const MAX_IDENTITY_PORT = 79_999;

interface DeclaredPort {
  readonly containerPort: number;
  readonly protocol: 'TCP' | 'UDP';
}

interface PortMapping extends DeclaredPort {
  readonly publicPort: number;
}

/** Returns true if the marketplace chooses the number of this port at each rental. No Service can open such a port. */
export function isIdentityPort({ containerPort }: DeclaredPort): boolean {
  return containerPort >= MIN_IDENTITY_PORT;
}

/**
 * Returns the mapping of a declared port. The mapping of an identity port has one number inside and outside, and no
 * other declared port has that number. Undefined if none fits, or several do.
 */
export function mappingOf<Mapping extends PortMapping>(
  port: DeclaredPort,
  declared: readonly DeclaredPort[],
  mappings: readonly Mapping[],
): Mapping | undefined {
  if (!isIdentityPort(port)) return mappings.find((mapping) => isSame(port, mapping));
  const [found, ...others] = mappings.filter(
    (mapping) =>
      mapping.protocol === port.protocol &&
      mapping.containerPort === mapping.publicPort &&
      !declared.some((each) => isSame(each, mapping)),
  );
  return others.length === 0 ? found : undefined;
}

const isSame = (one: DeclaredPort, other: DeclaredPort): boolean =>
  one.containerPort === other.containerPort && one.protocol === other.protocol;
