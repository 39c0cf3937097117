'use strict';

// Speaks the runtime contract for one fixture: docs/contract/runtime.md. Exit 0 with one document on standard output, or the
// contract's status and nothing.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const behaviour = require('./behaviour.js');

const KNOWN_ASSET = 'sha256:98920ae7df19271b5f1ac7df2323c5201efb9733e6d10dd2dc5f66e1a58beb15';

const sha256 = (bytes) => 'sha256:' + createHash('sha256').update(bytes).digest('hex');

const refuse = (status) => {
  process.exitCode = status;
  return null;
};

const recorded = (name) => JSON.parse(fs.readFileSync(path.join(__dirname, '..', 'recorded', `${name}.json`), 'utf8'));

function options(words) {
  const found = { positionals: [] };
  for (let at = 0; at < words.length; at += 1) {
    const [name, inline] = words[at].split(/=(.*)/s);
    if (!name.startsWith('--')) {
      found.positionals.push(words[at]);
    } else if (inline !== undefined) {
      found[name] = inline;
    } else if (['--cwd', '--workspace-root', '--adapter-schema'].includes(name)) {
      at += 1;
      found[name] = words[at];
    } else {
      found[name] = true;
    }
  }
  return found;
}

function decision(fields) {
  return {
    document_type: 'kdna.workspace-resolution',
    schema_version: '0.3.0',
    ...fields,
  };
}

function resolve(given) {
  const task = fs.readFileSync(0, 'utf8').trim().toLowerCase();
  if (task === '' || given['--adapter-schema'] !== '0.3.0') return refuse(2);
  const start = fs.realpathSync(given['--cwd']);
  const root = fs.realpathSync(given['--workspace-root']);
  const record = JSON.parse(fs.readFileSync(path.join(root, '.kdna', 'attachments.json'), 'utf8'));
  const fits = (entry) =>
    entry.state === 'enabled' && entry.scope.applies_to.some((phrase) => task.includes(phrase.toLowerCase()));
  const entry = record.attachments.find(fits);
  const workspace_root = path.relative(start, root) || '.';
  if (entry === undefined) {
    return decision({
      decision: 'skip',
      reason_code: 'no_applicable_attachment',
      workspace_root,
      selected: null,
      candidates: [],
      authorization: 'not_checked',
      integrity: 'not_checked',
    });
  }
  const asset = entry.asset;
  if (sha256(fs.readFileSync(path.join(root, '.kdna', asset.snapshot))) !== asset.digest) return refuse(2);
  const candidate = {
    attachment_id: entry.attachment_id,
    asset_id: asset.id,
    version: asset.version,
    digest: asset.digest,
    role: entry.role,
    authorization: 'satisfied',
    integrity: 'verified',
  };
  return decision({
    decision: 'load',
    reason_code: 'single_approved_attachment_clearly_applies',
    workspace_root,
    selected: candidate,
    candidates: [candidate],
    authorization: 'satisfied',
    integrity: 'verified',
  });
}

function planLoad(given) {
  const [file] = given.positionals;
  if (sha256(fs.readFileSync(file)) !== KNOWN_ASSET) return refuse(2);
  const plan = recorded('plan-load');
  plan.source.path = fs.realpathSync(file);
  return plan;
}

function load(given) {
  const [file] = given.positionals;
  const profile = given['--profile'] ?? 'compact';
  const digest = sha256(fs.readFileSync(file));
  if (digest !== KNOWN_ASSET || given['--as'] !== 'json' || !['compact', 'full'].includes(profile)) return refuse(1);
  const capsule = recorded(`load-${profile}`);
  capsule.digests.asset.value = digest;
  capsule.trace.loaded_at = new Date().toISOString();
  return capsule;
}

const COMMANDS = { resolve, 'plan-load': planLoad, load };

async function main() {
  const [name, ...words] = process.argv.slice(2);
  if (behaviour.before) await behaviour.before(name, words);
  const command = COMMANDS[name];
  let document = command === undefined ? refuse(2) : command(options(words));
  if (document !== null && behaviour.answer) document = await behaviour.answer(name, document);
  if (document !== null) process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
}

main().catch((fault) => {
  process.stderr.write(`${fault.message}\n`);
  process.exitCode = 1;
});
