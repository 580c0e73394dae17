import { brokenRules } from '../../status-contract/contract.ts';
import type { RecordedVersion } from '../../status-contract/version-recorder.ts';
import { type JsonObject, metadataOf } from '../memory-kube/json.ts';
import { nameOf, type Scene } from './scene.ts';

/** Every status that the operator writes means one thing to `kubectl wait`, Helm, Flux and Argo CD. */
export class StatusWatch {
  readonly #scene: Scene;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records an object written by the operator. */
  written(object: JsonObject): void {
    if (this.#scene.isHandled(String(metadataOf(object)['uid']))) return;
    for (const rule of brokenRules(object as unknown as RecordedVersion))
      this.#scene.broken('Status', `the status of ${nameOf(object)} breaks its contract: ${rule}`);
  }
}
