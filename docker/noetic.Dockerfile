# gz_testauto on Ubuntu 20.04 with ROS Noetic, gazebo_ros and Gazebo 11. In the checkout:
#   docker build -f docker/noetic.Dockerfile -t gz_testauto:noetic .
#   docker run --rm -v "$PWD:/data" --user "$(id -u)" gz_testauto:noetic roslaunch gz_testauto campaign.launch
FROM ros:noetic-ros-base-focal AS runtime
ARG PACKAGES=""
# hadolint ignore=DL3008,SC2086
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      procps ros-noetic-actionlib ros-noetic-gazebo-ros ros-noetic-move-base-msgs \
      ros-noetic-rostest ros-noetic-tf2-ros $PACKAGES \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 user

FROM runtime AS build
ARG EXTRAS=completion,dask,learning,plot,simulator_comparison,trees
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends cmake g++ make python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN /source/docker/install /opt/gz_testauto "$EXTRAS"

FROM runtime
COPY --from=build /opt/gz_testauto /opt/gz_testauto
USER 1000
WORKDIR /data
ENTRYPOINT ["/opt/gz_testauto/entrypoint"]
CMD ["gz_testauto", "--help"]
