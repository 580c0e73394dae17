import { KUBERNETES_VERSION } from '../cluster/go-modules.ts';

/** A Go module whose manifests are read from go's own cache. */
export interface ModuleVersion {
  readonly module: string;
  readonly version: string;
}

export const KUBERNETES: ModuleVersion = { module: 'k8s.io/kubernetes', version: KUBERNETES_VERSION };
export const JOBSET: ModuleVersion = { module: 'sigs.k8s.io/jobset', version: 'v0.10.1' };
export const KUEUE: ModuleVersion = { module: 'sigs.k8s.io/kueue', version: 'v0.17.0' };
export const ARGO: ModuleVersion = { module: 'github.com/argoproj/argo-workflows/v3', version: 'v3.7.3' };
export const TEKTON: ModuleVersion = { module: 'github.com/tektoncd/pipeline', version: 'v1.6.0' };
