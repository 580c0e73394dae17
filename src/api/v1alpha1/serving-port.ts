import { isIdentityPort } from './identity-port.ts';

interface Declared {
  readonly spec: {
    readonly gateway?: { readonly port?: string | number | undefined } | undefined;
    readonly template: {
      readonly spec: {
        readonly ports?:
          | readonly {
              readonly name?: string | undefined;
              readonly containerPort: number;
              readonly protocol: 'TCP' | 'UDP';
            }[]
          | undefined;
      };
    };
  };
}

/**
 * Returns the name of the serving port in slices: the one in `spec.gateway`, else the first of TCP. Never an identity
 * port.
 */
export function servingPortName({ spec }: Declared): string | undefined {
  const { port } = spec.gateway ?? {};
  const declared = (spec.template.spec.ports ?? []).filter(
    (port) => port.protocol === 'TCP' && !isIdentityPort(port),
  );
  const found = declared.find(({ name, containerPort }) =>
    port === undefined ? true : name === String(port) || String(containerPort) === String(port),
  );
  return found && (found.name ?? `tcp-${found.containerPort}`);
}
