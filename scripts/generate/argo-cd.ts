import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Artifact, REPOSITORY } from './artifact.ts';
import { GENERATED, yaml } from './yaml.ts';

const FOLDER = 'deploy/gitops/argo-cd/resource_customizations';

const folders = (path: string): readonly string[] =>
  readdirSync(join(REPOSITORY, path)).filter((name) => statSync(join(REPOSITORY, path, name)).isDirectory());
const text = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');

/** Returns the actions in the form of argocd-cm: a text that is YAML itself. */
function actionsOf(folder: string): string {
  const names = folders(folder).filter((name) => existsSync(join(REPOSITORY, folder, name, 'action.lua')));
  return yaml({
    'discovery.lua': text(`${folder}/discovery.lua`),
    definitions: names.map((name) => ({ name, 'action.lua': text(`${folder}/${name}/action.lua`) })),
  });
}

function customizations(group: string, kind: string): Readonly<Record<string, string>> {
  const folder = `${FOLDER}/${group}/${kind}`;
  const actions = `${folder}/actions`;
  return {
    [`resource.customizations.health.${group}_${kind}`]: text(`${folder}/health.lua`),
    ...(existsSync(join(REPOSITORY, actions)) && {
      [`resource.customizations.actions.${group}_${kind}`]: actionsOf(actions),
    }),
  };
}

/** Returns the Lua scripts as a patch of argocd-cm, for an Argo CD that does not include them. */
export function argoCdArtifact(): Artifact {
  const data = Object.assign(
    {},
    ...folders(FOLDER).flatMap((group) =>
      folders(`${FOLDER}/${group}`).map((kind) => customizations(group, kind)),
    ),
  );
  const patch = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'argocd-cm', namespace: 'argocd' },
    data,
  };
  const how =
    '# kubectl patch configmap argocd-cm -n argocd --patch-file deploy/gitops/argo-cd/argocd-cm.yaml\n';
  return { path: 'deploy/gitops/argo-cd/argocd-cm.yaml', content: GENERATED + how + yaml(patch) };
}
