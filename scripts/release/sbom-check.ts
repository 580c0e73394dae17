import * as z from 'zod';
import { BUNDLED_DEVELOPMENT_PACKAGES } from '../build/bundled-packages.ts';

interface Component {
  readonly group?: string | undefined;
  readonly name: string;
  readonly version: string;
  readonly components?: readonly Component[] | undefined;
}

const component: z.ZodType<Component> = z.looseObject({
  group: z.string().optional(),
  name: z.string(),
  version: z.string(),
  get components(): z.ZodOptional<z.ZodArray<z.ZodType<Component>>> {
    return z.array(component).optional();
  },
});

const sbomFile = z.looseObject({ bomFormat: z.literal('CycloneDX'), components: z.array(component) });

const lockFile = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().optional(),
      dev: z.boolean().optional(),
      link: z.boolean().optional(),
    }),
  ),
});

function componentsOf(components: readonly Component[]): readonly string[] {
  return components.flatMap(({ group, name, version, components: inner = [] }) => [
    `${group === undefined || group === '' ? name : `${group}/${name}`} ${version}`,
    ...componentsOf(inner),
  ]);
}

/** Returns the packages of package-lock.json of which a part ships, as `name version`. */
function lockedPackages(lock: unknown): readonly string[] {
  return Object.entries(lockFile.parse(lock).packages).flatMap(([path, { version, dev, link }]) => {
    const [, name] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    const isBundled = path === `node_modules/${name}` && BUNDLED_DEVELOPMENT_PACKAGES.includes(name ?? '');
    const ships = name !== undefined && link !== true && (dev !== true || isBundled);
    return ships ? [`${name} ${version ?? ''}`] : [];
  });
}

/** Throws unless the SBOM lists exactly the packages of package-lock.json of which a part ships, and says which differ. */
export function requireLockedPackages(sbom: unknown, lock: unknown): void {
  const listed = new Set(componentsOf(sbomFile.parse(sbom).components));
  const locked = new Set(lockedPackages(lock));
  const missing = [...locked].filter((each) => !listed.has(each)).map((each) => `misses ${each}`);
  const added = [...listed]
    .filter((each) => !locked.has(each))
    .map((each) => `lists ${each}, which package-lock.json does not have`);
  const problems = [...missing, ...added];
  if (problems.length > 0) throw new Error(`The SBOM ${problems.join('; ')}: run \`npm run sbom\` again`);
}
