# Copyright The Verbena contributors.
# SPDX-License-Identifier: (Apache-2.0 OR MIT)
"""Verbena for Spack: in a repository of yours as packages/verbena/package.py."""

import os

from spack.package import *


class Verbena(MakefilePackage):
    """MPI with the standard ABI of MPI-5.0, and libraries for programs that were built for MPICH."""

    homepage = "@HOMEPAGE@"
    url = "@SOURCE@"

    maintainers("verbena")
    license("Apache-2.0 OR MIT")

    version("@VERSION@", sha256="@SHA256@")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("fortran", type="build")
    depends_on("rust@{0}:".format("@RUST@"), type="build")
    depends_on("gmake", type="build")
    # Opened at run time where they are.
    depends_on("libfabric@1.17:", type="run")

    requires("platform=linux", msg="Verbena is for Linux alone")

    def build(self, spec, prefix):
        make("build")

    def install(self, spec, prefix):
        make("install", "PREFIX={0}".format(prefix))

    def setup_run_environment(self, env):
        env.set("MPICC", os.path.join(self.prefix.bin, "mpicc"))
        env.set("MPICXX", os.path.join(self.prefix.bin, "mpicxx"))
        env.set("MPIF77", os.path.join(self.prefix.bin, "mpif77"))
        env.set("MPIF90", os.path.join(self.prefix.bin, "mpif90"))

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        env.set("VERBENA_CC", spack_cc)
        env.set("VERBENA_CXX", spack_cxx)
        env.set("VERBENA_FC", spack_fc)

    def setup_dependent_package(self, module, dependent_spec):
        spec = self.spec
        spec.mpicc = os.path.join(self.prefix.bin, "mpicc")
        spec.mpicxx = os.path.join(self.prefix.bin, "mpicxx")
        spec.mpif77 = os.path.join(self.prefix.bin, "mpif77")
        spec.mpifc = os.path.join(self.prefix.bin, "mpif90")
