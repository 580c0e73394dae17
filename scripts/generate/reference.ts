import type { Artifact } from './artifact.ts';
import { flagsPage } from './flags-page.ts';
import { kindPages } from './kind-pages.ts';
import { reasonsPage } from './reasons-page.ts';

/** The reference under `docs/reference`. */
export function referenceArtifacts(): readonly Artifact[] {
  return [...kindPages(), reasonsPage(), flagsPage()];
}
