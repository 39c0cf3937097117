//! `Observe` over the simulated world. Never changes it, but for the log.

use super::call::Call;
use super::walk::{Rules, plain_name};
use super::world::{Body, ROOT, World};
use super::{SimDirectory, SimFile, SimSystem, labelled};
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::system::{Facts, Fault, Kind, Observe};

/// An absolute open: no links, any mount.
const ABSOLUTE: Rules = Rules { cross_mounts: true, take_last_link: false };
/// An open beneath: no links, no other mount.
const BENEATH: Rules = Rules { cross_mounts: false, take_last_link: false };
/// A question beneath: the last component may be a link, which is not followed.
const LOOK_BENEATH: Rules = Rules { cross_mounts: false, take_last_link: true };

impl Observe for SimSystem {
    type Directory = SimDirectory;
    type File = SimFile;

    fn open_directory(&self, path: &AbsolutePath) -> Result<SimDirectory, Fault> {
        let world = self.enter(Call::OpenDirectory, path.as_str().to_owned())?;
        let inode = world.walk(ROOT, path.as_str(), ABSOLUTE)?;
        self.granted(&world, path)?;
        openable_directory(&world, inode)?;
        Ok(SimDirectory { world: world.id, inode, label: path.as_str().to_owned() })
    }

    fn open_directory_beneath(&self, directory: &SimDirectory, path: &RelativePath) -> Result<SimDirectory, Fault> {
        let label = labelled(directory, path.as_str());
        let world = self.enter(Call::OpenDirectoryBeneath, label.clone())?;
        let inode = world.walk(world.held(directory)?, path.as_str(), BENEATH)?;
        openable_directory(&world, inode)?;
        Ok(SimDirectory { world: world.id, inode, label })
    }

    fn open_file_beneath(&self, directory: &SimDirectory, path: &RelativePath) -> Result<SimFile, Fault> {
        let label = labelled(directory, path.as_str());
        let world = self.enter(Call::OpenFileBeneath, label.clone())?;
        let inode = world.walk(world.held(directory)?, path.as_str(), BENEATH)?;
        world.open_node(inode, label, false)
    }

    fn open_file_in(&self, directory: &SimDirectory, name: &str) -> Result<SimFile, Fault> {
        let label = labelled(directory, name);
        let world = self.enter(Call::OpenFileIn, label.clone())?;
        plain_name(name)?;
        let inode = world.walk(world.held(directory)?, name, ABSOLUTE)?;
        world.open_node(inode, label, false)
    }

    fn directory_facts(&self, directory: &SimDirectory) -> Result<Facts, Fault> {
        let world = self.enter(Call::DirectoryFacts, directory.label.clone())?;
        world.facts(world.held(directory)?)
    }

    fn file_facts(&self, file: &SimFile) -> Result<Facts, Fault> {
        let world = self.enter(Call::FileFacts, file.label.clone())?;
        world.facts(world.held_file(file)?)
    }

    fn read(&self, file: &SimFile, limit: u64) -> Result<Vec<u8>, Fault> {
        let world = self.enter(Call::Read, file.label.clone())?;
        Ok(world.bounded(file, limit)?.to_vec())
    }

    fn fill(&self, file: &SimFile, buffer: &mut [u8]) -> Result<usize, Fault> {
        let world = self.enter(Call::Fill, file.label.clone())?;
        let content = world.bounded(file, u64::try_from(buffer.len()).unwrap_or(u64::MAX))?;
        buffer.get_mut(..content.len()).ok_or(Fault::TooLarge)?.copy_from_slice(content);
        Ok(content.len())
    }

    fn resolve_link(&self, path: &AbsolutePath) -> Result<AbsolutePath, Fault> {
        let world = self.enter(Call::ResolveLink, path.as_str().to_owned())?;
        let (parent, _) = path.split_last().ok_or(Fault::WrongKind)?;
        match &world.node(world.find(path.as_str())?)?.body {
            Body::Link(target) => parent.resolve(target).ok_or(Fault::WrongKind),
            _ => Err(Fault::WrongKind),
        }
    }

    fn look(&self, path: &AbsolutePath) -> Result<Facts, Fault> {
        let world = self.enter(Call::Look, path.as_str().to_owned())?;
        world.facts(world.find(path.as_str())?)
    }

    fn look_beneath(&self, directory: &SimDirectory, path: &RelativePath) -> Result<Facts, Fault> {
        let world = self.enter(Call::LookBeneath, labelled(directory, path.as_str()))?;
        world.facts(world.walk(world.held(directory)?, path.as_str(), LOOK_BENEATH)?)
    }

    fn canonical_directory(&self, path: &AbsolutePath) -> Result<AbsolutePath, Fault> {
        let world = self.enter(Call::CanonicalDirectory, path.as_str().to_owned())?;
        let trail = world.trail(path.as_str())?;
        match world.node(trail.last().map_or(ROOT, |(_, inode)| *inode))?.body.kind() {
            Kind::Directory => {}
            Kind::Link => return Err(Fault::Link),
            _ => return Err(Fault::WrongKind),
        }
        let names: Vec<&str> = trail.iter().map(|(name, _)| name.as_str()).collect();
        AbsolutePath::parse(&format!("/{}", names.join("/"))).map_err(|_| Fault::Escapes)
    }

    fn user(&self) -> u32 {
        self.before(Call::User, String::new()).0.user
    }

    fn account_home(&self) -> Option<AbsolutePath> {
        // The password database lies outside of what a child may read: `enter` refuses it there.
        self.enter(Call::AccountHome, String::new()).ok()?.home.clone()
    }

    fn working_directory(&self) -> Result<AbsolutePath, Fault> {
        let world = self.enter(Call::WorkingDirectory, String::new())?;
        world.path_of(world.working)
    }
}

fn openable_directory(world: &World, inode: u64) -> Result<(), Fault> {
    let node = world.node(inode)?;
    match node.body.kind() {
        Kind::Directory if node.denied => Err(Fault::Denied),
        Kind::Directory => Ok(()),
        _ => Err(Fault::WrongKind),
    }
}
